/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_index.h"
#include "nncc_move.h"
#include "nncc_short_runs.h"

/* Slices of as many bytes are copied one by one: what is found out for each index is little beside. */
#define NNCC_GATHER_LONG 32

/* What an index selects of short slices, at once from all that lies in front of the axis. */
static nncc_status nncc_gather_short(const nncc_gather_params *p, const uint8_t *from, const void *indices, uint8_t *to)
{
    nncc_short_runs r;

    r.n = p->block;
    r.count = p->outer;
    r.from_step = p->axis * p->block;
    r.to_step = p->count * p->block;
    for (int32_t i = 0; i < p->count; i++) {
        const int32_t at = nncc_index(indices, i, p->index_bytes, p->axis);

        if (at < 0) {
            return NNCC_ERR_INDEX;
        }
        nncc_copy_runs(&r, to, from + at * p->block);
        to += p->block;
    }
    return NNCC_OK;
}

nncc_status nncc_gather(const nncc_gather_params *p, const void *x, const void *indices, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;

    if (p->block < NNCC_GATHER_LONG && p->outer > 1) {
        return nncc_gather_short(p, from, indices, to);
    }
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->count; i++) {
            const int32_t at = nncc_index(indices, i, p->index_bytes, p->axis);

            if (at < 0) {
                return NNCC_ERR_INDEX;
            }
            nncc_copy(to, from + at * p->block, p->block);
            to += p->block;
        }
        from += p->axis * p->block;
    }
    return NNCC_OK;
}
