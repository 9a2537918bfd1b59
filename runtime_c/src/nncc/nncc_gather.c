/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_copy.h"
#include "nncc_index.h"
#include "nncc_move.h"

nncc_status nncc_gather(const nncc_gather_params *p, const void *x, const void *indices, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;

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
