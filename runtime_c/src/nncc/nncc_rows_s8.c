/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_bcast.h"
#include "nncc_s8.h"

void nncc_rows_s8(const nncc_bcast_params *p, const void *form, nncc_pair_fn *fn, const int8_t *a, const int8_t *b,
                  int8_t *y)
{
    const int32_t outer = p->rank - 2, n = p->dims[outer + 1], m = p->dims[outer];
    const int32_t ra = p->a_stride[outer], rb = p->b_stride[outer];
    int32_t index[NNCC_MAX_DIMS] = {0};
    int32_t ia = 0, ib = 0;

    do {
        const int8_t *u = a + ia, *v = b + ib;

        for (int32_t r = m; r > 0; r--) {
            fn(form, u, v, y, n);
            u += ra;
            v += rb;
            y += n;
        }
    } while (nncc_bcast_next(p, outer, index, &ia, &ib) != 0);
}
