/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_index.h"
#include "nncc_move.h"
#include "nncc_short_runs.h"

/* Slices of as many bytes are copied one by one: what is found out for each index is little beside. */
#define NNCC_GATHER_LONG 32

nncc_status nncc_gather(const nncc_gather_params *p, const void *x, const void *indices, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;
    /* What an index selects of shorter ones, at once, from all that lies in front of the axis. */
    const int32_t together = p->block < NNCC_GATHER_LONG ? p->outer : 1;
    nncc_short_runs r;

    r.n = p->block;
    r.count = together;
    r.from_step = p->axis * p->block;
    r.to_step = p->count * p->block;
    for (int32_t o = p->outer; o > 0; o -= together) {
        for (int32_t i = 0; i < p->count; i++) {
            const int32_t at = nncc_index(indices, i, p->index_bytes, p->axis);

            if (at < 0) {
                return NNCC_ERR_INDEX;
            }
            if (together > 1) {
                nncc_copy_runs(&r, to + i * p->block, from + at * p->block);
            } else {
                nncc_copy(to + i * p->block, from + at * p->block, p->block);
            }
        }
        from += r.from_step;
        to += r.to_step;
    }
    return NNCC_OK;
}
