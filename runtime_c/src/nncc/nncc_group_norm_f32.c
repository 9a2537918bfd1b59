/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_f32.h"

void nncc_group_norm_f32(const nncc_group_norm_params *p, const float *x, const float *scale, const float *bias,
                         float *y)
{
    const int32_t width = p->channels / p->groups;
    const int32_t span = p->spatial * p->channels;
    const float n = (float)(p->spatial * width);

    for (int32_t b = 0; b < p->batch; b++) {
        for (int32_t first = 0; first < p->channels; first += width) {
            float mean = 0.0f;
            float var = 0.0f;

            for (int32_t s = first; s < span; s += p->channels) {
                for (int32_t c = 0; c < width; c++) {
                    mean += x[s + c];
                }
            }
            mean /= n;
            for (int32_t s = first; s < span; s += p->channels) {
                for (int32_t c = 0; c < width; c++) {
                    const float d = x[s + c] - mean;

                    var += d * d;
                }
            }
            var = 1.0f / sqrtf(var / n + p->epsilon);
            for (int32_t s = first; s < span; s += p->channels) {
                for (int32_t c = 0; c < width; c++) {
                    y[s + c] = (x[s + c] - mean) * var * scale[first + c] + bias[first + c];
                }
            }
        }
        x += span;
        y += span;
    }
}
