/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "mla_bf16.h"
#include "mla_kernels.h"
#include "nncc_window.h"

/* The sum of output channel k at the pixel whose tap (0, 0) lies at spread position (y0, x0). */
static double mla_sum_bf16(const mla_conv2d_params *p, int32_t y0, int32_t x0, int32_t k, const uint16_t *x,
                           const uint16_t *w)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t first = k / (p->out_c / p->groups) * cin;
    double sum = 0.0;

    const nncc_taps rows = nncc_window(y0, p->dilation_h, p->kernel_h, (p->in_h - 1) * p->spread_h + 1);
    const nncc_taps cols = nncc_window(x0, p->dilation_w, p->kernel_w, (p->in_w - 1) * p->spread_w + 1);
    for (int32_t ky = rows.first; ky < rows.last; ky++) {
        const int32_t py = y0 + ky * p->dilation_h;

        for (int32_t kx = cols.first; kx < cols.last; kx++) {
            const int32_t px = x0 + kx * p->dilation_w;
            const uint16_t *row = x + (py / p->spread_h * p->in_w + px / p->spread_w) * p->in_c + first;
            const uint16_t *taps = w + ((k * p->kernel_h + ky) * p->kernel_w + kx) * cin;

            if (py % p->spread_h != 0 || px % p->spread_w != 0) {
                continue;
            }
            for (int32_t c = 0; c < cin; c++) {
                sum += mla_from_bf16(row[c]) * mla_from_bf16(taps[c]);
            }
        }
    }
    return sum;
}

void mla_conv2d_bf16(const mla_conv2d_bf16_params *q, const uint16_t *x, const uint16_t *w, const float *b, uint16_t *y)
{
    const mla_conv2d_params *const p = &q->conv;

    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                for (int32_t k = 0; k < p->out_c; k++) {
                    double v = mla_sum_bf16(p, oy * p->stride_h - p->pad_top, ox * p->stride_w - p->pad_left, k, x, w);

                    v += b != NULL ? (double)b[k] : 0.0;
                    *y++ = mla_to_bf16(mla_within(v, q->act_min, q->act_max));
                }
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
