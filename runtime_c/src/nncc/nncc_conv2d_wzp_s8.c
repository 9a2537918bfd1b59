/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_requant.h"
#include "nncc_s8.h"
#include "nncc_window.h"

/* One output pixel of one group, output channels [c0, c0 + out_c/groups). */
static void nncc_wzp_pixel(const nncc_conv2d_wzp_s8_params *p, const int8_t *x, const int8_t *w, const int32_t *b,
                           const int32_t *w_zero, const int32_t *mult, const int32_t *shift, int8_t *y, int32_t c0,
                           int32_t y0, int32_t x0)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;

    const nncc_taps rows = nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h);
    const nncc_taps cols = nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w);
    for (int32_t c = c0; c < c0 + cout; c++) {
        const int32_t zero = w_zero[c];
        uint32_t acc = b != NULL ? (uint32_t)b[c] : 0u;

        for (int32_t ky = rows.first; ky < rows.last; ky++) {
            for (int32_t kx = cols.first; kx < cols.last; kx++) {
                const int8_t *v = x + ((y0 + ky * p->dilation_h) * p->in_w + x0 + kx * p->dilation_w) * p->in_c;
                const int8_t *k = w + ((c * p->kernel_h + ky) * p->kernel_w + kx) * cin;

                for (int32_t i = 0; i < cin; i++) {
                    acc += (uint32_t)((v[i] + p->in_offset) * (k[i] - zero));
                }
            }
        }
        y[c] = nncc_rq_s8(acc, mult[c], shift[c], p->out_offset, p->act_min, p->act_max);
    }
}

void nncc_conv2d_wzp_s8(const nncc_conv2d_wzp_s8_params *p, const int8_t *x, const int8_t *w, const int32_t *b,
                        const int32_t *w_zero, const int32_t *mult, const int32_t *shift, int8_t *y)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;

    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                for (int32_t g = 0; g < p->groups; g++) {
                    nncc_wzp_pixel(p, x + g * cin, w, b, w_zero, mult, shift, y, g * cout,
                                   oy * p->stride_h - p->pad_top, ox * p->stride_w - p->pad_left);
                }
                y += p->out_c;
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
