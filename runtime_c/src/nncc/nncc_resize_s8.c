/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_mean.h"
#include "nncc_s8.h"

void nncc_resize_s8(const nncc_resize_s8_params *p, const int8_t *x, const int32_t *index_h, const int16_t *weight_h,
                    const int32_t *index_w, const int16_t *weight_w, int8_t *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            const int32_t *ih = index_h + oy * p->taps_h;
            const int16_t *wh = weight_h + oy * p->taps_h;

            for (int32_t ox = 0; ox < p->out_w; ox++) {
                const int32_t *iw = index_w + ox * p->taps_w;
                const int16_t *ww = weight_w + ox * p->taps_w;

                for (int32_t c = 0; c < p->channels; c++) {
                    int32_t acc = 0;

                    if (ih[0] < 0 || iw[0] < 0) {
                        *y++ = (int8_t)p->outside;
                        continue;
                    }
                    for (int32_t th = 0; th < p->taps_h; th++) {
                        int32_t row = 0;

                        for (int32_t tw = 0; tw < p->taps_w; tw++) {
                            row += (x[(ih[th] * p->in_w + iw[tw]) * p->channels + c] - p->in_zero) * ww[tw];
                        }
                        acc += row * wh[th];
                    }
                    *y++ = p->rescale != 0
                               ? nncc_mean_scaled_s8(acc, p->in_scale, p->den, p->out_scale, p->out_zero, -128, 127)
                               : nncc_mean_s8(acc, p->den, p->out_zero, -128, 127);
                }
            }
        }
        x += p->in_h * p->in_w * p->channels;
    }
}
