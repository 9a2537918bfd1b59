/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_element_f32.h"
#include "nncc_f32.h"

void nncc_log_softmax_f32(const nncc_axis_params *p, const float *x, float *y)
{
    const int32_t span = p->axis * p->inner;

    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            float max = x[i];
            float sum = 0.0f;

            for (int32_t k = i; k < span; k += p->inner) {
                if (x[k] > max) {
                    max = x[k];
                }
            }
            for (int32_t k = i; k < span; k += p->inner) {
                sum += nncc_el_exp_f32(x[k] - max);
            }
            sum = logf(sum);
            for (int32_t k = i; k < span; k += p->inner) {
                y[k] = (x[k] - max) - sum;
            }
        }
        x += span;
        y += span;
    }
}
