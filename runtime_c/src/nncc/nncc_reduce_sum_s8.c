#include "nncc_fp.h"

#include "nncc_mean.h"
#include "nncc_s8.h"

void nncc_reduce_sum_s8(const nncc_reduce_s8_params *p, const int8_t *x, int8_t *y)
{
    const int32_t span = p->axis * p->inner;

    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            int32_t acc = 0;

            for (int32_t k = i; k < span; k += p->inner) {
                acc += x[k] - p->in_zero;
            }
            *y++ = p->rescale != 0 ? nncc_mean_scaled_s8(acc, p->in_scale, p->divisor, p->out_scale, p->out_zero,
                                                         p->act_min, p->act_max)
                                   : nncc_mean_s8(acc, p->divisor, p->out_zero, p->act_min, p->act_max);
        }
        x += span;
    }
}
