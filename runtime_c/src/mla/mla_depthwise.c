/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "mla_kernels.h"
#include "nncc_requant.h"
#include "nncc_window.h"

/* The taps of output channel c of the pixel whose tap (0, 0) lies at (y0, x0). */
static uint32_t mla_channel(const mla_depthwise_params *p, int32_t y0, int32_t x0, const int8_t *x, const int8_t *w,
                            int32_t c)
{
    const nncc_taps rows = nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h);
    const nncc_taps cols = nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w);
    uint32_t acc = 0;

    for (int32_t ky = rows.first; ky < rows.last; ky++) {
        for (int32_t kx = cols.first; kx < cols.last; kx++) {
            const int32_t at = (y0 + ky * p->dilation_h) * p->in_w + x0 + kx * p->dilation_w;
            const int32_t v = x[at * p->in_c + c / p->mult_c] + p->in_offset;

            acc += (uint32_t)(v * w[(ky * p->kernel_w + kx) * p->in_c * p->mult_c + c]);
        }
    }
    return acc;
}

void mla_depthwise(const mla_depthwise_params *p, const int8_t *x, const int8_t *w, const int32_t *b,
                   const int32_t *mult, const int32_t *shift, int8_t *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                for (int32_t c = 0; c < p->in_c * p->mult_c; c++) {
                    const uint32_t acc =
                        mla_channel(p, oy * p->stride_h - p->pad_top, ox * p->stride_w - p->pad_left, x, w, c);

                    *y++ = nncc_rq_s8(acc + (b != NULL ? (uint32_t)b[c] : 0u), mult[c], shift[c], p->out_offset,
                                      p->act_min, p->act_max);
                }
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
