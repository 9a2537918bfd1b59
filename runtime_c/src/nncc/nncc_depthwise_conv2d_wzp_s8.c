/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_requant.h"
#include "nncc_s8.h"
#include "nncc_window.h"

/* One output pixel. */
static void nncc_depthwise_wzp_pixel(const nncc_depthwise_conv2d_wzp_s8_params *p, const int8_t *x, const int8_t *w,
                                     const int32_t *b, const int32_t *w_zero, const int32_t *mult, const int32_t *shift,
                                     int8_t *y, int32_t y0, int32_t x0)
{
    const int32_t out_c = p->in_c * p->mult_c;
    int32_t ic = 0;
    int32_t m = 0;

    const nncc_taps rows = nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h);
    const nncc_taps cols = nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w);
    for (int32_t c = 0; c < out_c; c++) {
        uint32_t acc = b != NULL ? (uint32_t)b[c] : 0u;

        for (int32_t ky = rows.first; ky < rows.last; ky++) {
            for (int32_t kx = cols.first; kx < cols.last; kx++) {
                const int32_t v = x[((y0 + ky * p->dilation_h) * p->in_w + x0 + kx * p->dilation_w) * p->in_c + ic];

                acc += (uint32_t)((v + p->in_offset) * (w[(ky * p->kernel_w + kx) * out_c + c] - w_zero[c]));
            }
        }
        y[c] = nncc_rq_s8(acc, mult[c], shift[c], p->out_offset, p->act_min, p->act_max);
        if (++m == p->mult_c) {
            m = 0;
            ic++;
        }
    }
}

void nncc_depthwise_conv2d_wzp_s8(const nncc_depthwise_conv2d_wzp_s8_params *p, const int8_t *x, const int8_t *w,
                                  const int32_t *b, const int32_t *w_zero, const int32_t *mult, const int32_t *shift,
                                  int8_t *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                nncc_depthwise_wzp_pixel(p, x, w, b, w_zero, mult, shift, y, oy * p->stride_h - p->pad_top,
                                         ox * p->stride_w - p->pad_left);
                y += p->in_c * p->mult_c;
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
