/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_dot_f32.h"
#include "nncc_f32.h"
#include "nncc_window.h"

/* One output pixel: y[0..in_c*mult). */
static void nncc_depthwise_pixel(const nncc_depthwise_conv2d_params *p, const float *x, const float *w, const float *b,
                                 float *y, int32_t y0, int32_t x0)
{
    const int32_t out_c = p->in_c * p->mult;
    const int32_t step = p->dilation_w * p->in_c;
    int32_t ic = 0;
    int32_t m = 0;

    const nncc_taps rows = nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h);
    const nncc_taps cols = nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w);

    for (int32_t oc = 0; oc < out_c;) {
        /* With multiplier 1 the channels of input, weights and output run side by side: four at a time. */
        const int32_t lanes = (p->mult == 1 && out_c - oc >= 4) ? 4 : 1;
        float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};

        for (int32_t ky = rows.first; ky < rows.last; ky++) {
            int32_t xi = ((y0 + ky * p->dilation_h) * p->in_w + x0 + cols.first * p->dilation_w) * p->in_c + ic;
            int32_t wi = (ky * p->kernel_w + cols.first) * out_c + oc;

            if (lanes == 4) {
                for (int32_t kx = cols.first; kx < cols.last; kx++) {
                    acc[0] += x[xi] * w[wi];
                    acc[1] += x[xi + 1] * w[wi + 1];
                    acc[2] += x[xi + 2] * w[wi + 2];
                    acc[3] += x[xi + 3] * w[wi + 3];
                    xi += step;
                    wi += out_c;
                }
            } else {
                for (int32_t kx = cols.first; kx < cols.last; kx++) {
                    acc[0] += x[xi] * w[wi];
                    xi += step;
                    wi += out_c;
                }
            }
        }
        for (int32_t j = 0; j < lanes; j++, oc++) {
            const float v = b != NULL ? acc[j] + b[oc] : acc[j];
            y[oc] = nncc_clamp_f32(v, p->act_min, p->act_max);
            if (++m == p->mult) {
                m = 0;
                ic++;
            }
        }
    }
}

void nncc_depthwise_conv2d_f32(const nncc_depthwise_conv2d_params *p, const float *x, const float *w, const float *b,
                               float *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                nncc_depthwise_pixel(p, x, w, b, y, oy * p->stride_h - p->pad_top, ox * p->stride_w - p->pad_left);
                y += p->in_c * p->mult;
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
