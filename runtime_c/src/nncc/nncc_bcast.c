/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_bcast: odometer over the outer dimensions of a broadcast. */
#include "nncc_bcast.h"

int32_t nncc_bcast_next(const nncc_bcast_params *p, int32_t dims, int32_t *index, int32_t *a, int32_t *b)
{
    for (int32_t d = dims - 1; d >= 0; d--) {
        *a += p->a_stride[d];
        *b += p->b_stride[d];
        index[d]++;
        if (index[d] < p->dims[d]) {
            return 1;
        }
        *a -= p->a_stride[d] * p->dims[d];
        *b -= p->b_stride[d] * p->dims[d];
        index[d] = 0;
    }
    return 0;
}
