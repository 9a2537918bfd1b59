/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_f32.h"

void nncc_lp_norm_f32(const nncc_lp_norm_params *p, const float *x, float *y)
{
    const int32_t span = p->axis * p->inner;

    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            float sum = 0.0f;

            for (int32_t k = i; k < span; k += p->inner) {
                sum += p->power == 1 ? fabsf(x[k]) : x[k] * x[k];
            }
            if (p->power != 1) {
                sum = sqrtf(sum);
            }
            for (int32_t k = i; k < span; k += p->inner) {
                y[k] = sum == 0.0f ? 0.0f : x[k] / sum;
            }
        }
        x += span;
        y += span;
    }
}
