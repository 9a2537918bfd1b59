/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_f32.h"

void nncc_rms_norm_f32(const nncc_layer_norm_params *p, const float *x, const float *scale, float *y)
{
    for (int32_t r = 0; r < p->rows; r++) {
        float sum = 0.0f;

        for (int32_t i = 0; i < p->len; i++) {
            sum += x[i] * x[i];
        }
        sum = 1.0f / sqrtf(sum / (float)p->len + p->epsilon);
        for (int32_t i = 0; i < p->len; i++) {
            y[i] = x[i] * sum * scale[i];
        }
        x += p->len;
        y += p->len;
    }
}
