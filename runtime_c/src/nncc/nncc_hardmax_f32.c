/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_f32.h"

void nncc_hardmax_f32(const nncc_axis_params *p, const float *x, float *y)
{
    const int32_t span = p->axis * p->inner;

    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            int32_t best = i;

            for (int32_t k = i; k < span; k += p->inner) {
                y[k] = 0.0f;
                if (x[k] > x[best]) {
                    best = k;
                }
            }
            y[best] = 1.0f;
        }
        x += span;
        y += span;
    }
}
