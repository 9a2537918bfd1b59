/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_round.h"
#include "nncc_s16.h"

static int32_t reduced(const nncc_reduce_s8_params *p, int32_t acc)
{
    const int64_t t = (int64_t)acc * p->mult + p->bias;
    const uint32_t unit = (uint32_t)1 << p->shift, rest = (uint32_t)t & (unit - 1u), doubt = (uint32_t)p->doubt;

    if (p->mult != 0 && rest >= doubt && rest < unit - doubt) {
        const int64_t r = t >> p->shift;

        return (int32_t)(r < p->act_min ? p->act_min : (r > p->act_max ? p->act_max : r));
    }
    double v = (double)acc * p->in_scale;
    v = v / (double)p->divisor;
    return nncc_round_away(v / p->out_scale, p->out_zero, p->act_min, p->act_max);
}

void nncc_reduce_sum_s16(const nncc_reduce_s8_params *p, const int16_t *x, int16_t *y)
{
    const int32_t span = p->axis * p->inner;

    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            int32_t acc = 0;

            for (int32_t k = i; k < span; k += p->inner) {
                acc += x[k] - p->in_zero;
            }
            *y++ = (int16_t)reduced(p, acc);
        }
        x += span;
    }
}
