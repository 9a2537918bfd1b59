/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_tuple.h"

#include <string.h>

nncc_status nncc_scatter_nd(const nncc_gather_nd_params *p, const void *updates, const void *indices, void *y)
{
    for (int32_t t = 0; t < p->batch * p->count; t++) {
        const int32_t at = nncc_tuple(p, indices, t);

        if (at < 0) {
            return NNCC_ERR_INDEX;
        }
        memcpy((uint8_t *)y + at * p->block, (const uint8_t *)updates + t * p->block, (size_t)p->block);
    }
    return NNCC_OK;
}
