/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_tuple.h: index tuples of GatherND and ScatterND. */
#include "nncc_index.h"
#include "nncc_move.h"

/* Block number that tuple t points to, across all slabs; -1 when it points outside. */
static inline int32_t nncc_tuple(const nncc_gather_nd_params *p, const void *indices, int32_t t)
{
    int32_t at = t / p->count;

    for (int32_t k = 0; k < p->depth; k++) {
        const int32_t i = nncc_index(indices, t * p->depth + k, p->index_bytes, p->axis_len[k]);

        if (i < 0) {
            return -1;
        }
        at = at * p->axis_len[k] + i;
    }
    return at;
}
