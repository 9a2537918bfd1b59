/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_f32.h"

void nncc_layer_norm_f32(const nncc_layer_norm_params *p, const float *x, const float *scale, const float *bias,
                         float *y)
{
    const float n = (float)p->len;

    for (int32_t r = 0; r < p->rows; r++) {
        float mean = 0.0f;
        float var = 0.0f;

        for (int32_t i = 0; i < p->len; i++) {
            mean += x[i];
        }
        mean /= n;
        for (int32_t i = 0; i < p->len; i++) {
            const float d = x[i] - mean;

            var += d * d;
        }
        var = 1.0f / sqrtf(var / n + p->epsilon);
        for (int32_t i = 0; i < p->len; i++) {
            const float v = (x[i] - mean) * var * scale[i];

            y[i] = bias != NULL ? v + bias[i] : v;
        }
        x += p->len;
        y += p->len;
    }
}
