/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_f32.h"

/* y[c] = the denominators of n channels, before the power. */
static void nncc_lrn_sums(const nncc_lrn_params *p, const float *x, float *y)
{
    const int32_t before = (p->size - 1) / 2;
    const int32_t after = p->size / 2;
    const float alpha = p->alpha / (float)p->size;

    for (int32_t c = 0; c < p->channels; c++) {
        const int32_t first = c > before ? c - before : 0;
        const int32_t last = c + after < p->channels ? c + after : p->channels - 1;
        float sum = 0.0f;

        for (const float *v = x + first; v <= x + last; v++) {
            sum += *v * *v;
        }
        y[c] = p->bias + alpha * sum;
    }
}

/* The usual powers are roots: an instruction or two with an FPU, where powf takes hundreds. */
void nncc_lrn_f32(const nncc_lrn_params *p, const float *x, float *y)
{
    const int32_t n = p->channels;

    for (int32_t r = 0; r < p->rows; r++) {
        nncc_lrn_sums(p, x, y);
        if (p->beta == 0.75f) {
            for (int32_t c = 0; c < n; c++) {
                const float root = sqrtf(y[c]);

                y[c] = x[c] / (root * sqrtf(root));
            }
        } else if (p->beta == 0.5f) {
            for (int32_t c = 0; c < n; c++) {
                y[c] = x[c] / sqrtf(y[c]);
            }
        } else {
            for (int32_t c = 0; c < n; c++) {
                y[c] = x[c] / powf(y[c], p->beta);
            }
        }
        x += n;
        y += n;
    }
}
