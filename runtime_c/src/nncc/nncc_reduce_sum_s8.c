/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_columns.h"
#include "nncc_mean.h"
#include "nncc_s8.h"

/* The result of a sum of the values themselves. */
static int8_t nncc_reduced(const nncc_reduce_s8_params *p, int32_t sum)
{
    const int32_t acc = sum - p->axis * p->in_zero;

    if (p->mult != 0) {
        return nncc_mean_mult_s8(acc, p->mult, p->bias, p->shift, p->act_min, p->act_max);
    }
    return p->rescale != 0
               ? nncc_mean_scaled_s8(acc, p->in_scale, p->divisor, p->out_scale, p->out_zero, p->act_min, p->act_max)
               : nncc_mean_s8(acc, p->divisor, p->out_zero, p->act_min, p->act_max);
}

void nncc_reduce_sum_s8(const nncc_reduce_s8_params *p, const int8_t *x, int8_t *y)
{
    const int32_t inner = p->inner;

    for (int32_t o = 0; o < p->outer; o++) {
        if (inner == 1) {
            *y++ = nncc_reduced(p, nncc_bytes_sum(x, p->axis));
        } else {
            for (int32_t i = 0; i < inner; i += NNCC_COLUMNS) {
                const int32_t n = inner - i < NNCC_COLUMNS ? inner - i : NNCC_COLUMNS;
                int32_t sum[NNCC_COLUMNS] = {0};

                nncc_columns_add(x + i, p->axis, inner, n, sum);
                for (int32_t k = 0; k < n; k++) {
                    *y++ = nncc_reduced(p, sum[k]);
                }
            }
        }
        x += p->axis * inner;
    }
}
