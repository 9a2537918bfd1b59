/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "mla_bf16.h"
#include "mla_kernels.h"
#include "nncc_window.h"

void mla_max_pool2d_bf16(const mla_pool2d_bf16_params *p, const uint16_t *x, uint16_t *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            const int32_t y0 = oy * p->stride_h - p->pad_top;
            const nncc_taps rows = nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h);
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                const int32_t x0 = ox * p->stride_w - p->pad_left;
                const nncc_taps cols = nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w);
                for (int32_t c = 0; c < p->in_c; c++) {
                    uint16_t best = 0xff80u; /* -inf */

                    for (int32_t ky = rows.first; ky < rows.last; ky++) {
                        for (int32_t kx = cols.first; kx < cols.last; kx++) {
                            const int32_t at = (y0 + ky * p->dilation_h) * p->in_w + x0 + kx * p->dilation_w;
                            const uint16_t v = x[at * p->in_c + c];

                            best = mla_from_bf16(v) > mla_from_bf16(best) ? v : best;
                        }
                    }
                    *y++ = mla_to_bf16(mla_within(mla_from_bf16(best), p->act_min, p->act_max));
                }
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
