/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_f32.h"

void nncc_cumsum_f32(const nncc_cumsum_params *p, const float *x, float *y)
{
    const int32_t step = p->reverse != 0 ? -p->inner : p->inner;
    const int32_t start = p->reverse != 0 ? (p->axis - 1) * p->inner : 0;

    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            float sum = 0.0f;
            int32_t at = start + i;

            for (int32_t k = 0; k < p->axis; k++) {
                const float before = sum;

                sum += x[at];
                y[at] = p->exclusive != 0 ? before : sum;
                at += step;
            }
        }
        x += p->axis * p->inner;
        y += p->axis * p->inner;
    }
}
