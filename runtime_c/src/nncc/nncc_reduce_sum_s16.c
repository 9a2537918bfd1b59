/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_round.h"
#include "nncc_s16.h"

void nncc_reduce_sum_s16(const nncc_reduce_s8_params *p, const int16_t *x, int16_t *y)
{
    const int32_t span = p->axis * p->inner;

    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            int32_t acc = 0;
            double v;

            for (int32_t k = i; k < span; k += p->inner) {
                acc += x[k] - p->in_zero;
            }
            v = (double)acc * p->in_scale;
            v = v / (double)p->divisor;
            *y++ = (int16_t)nncc_round_away(v / p->out_scale, p->out_zero, p->act_min, p->act_max);
        }
        x += span;
    }
}
