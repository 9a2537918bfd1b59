/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_f32.h"
#include "nncc_f32_rows.h"

/* The channels of a pixel between 2x2 others. */
static void nncc_f32_resize_linear(const nncc_resize_params *p, const float *x, const int32_t *ih, const float *wh,
                                   const int32_t *iw, const float *ww, float *y)
{
    const float *from[4];
    float weight[4];

    for (int32_t i = 0; i < 4; i++) {
        from[i] = x + (ih[i / 2] * p->in_w + iw[i % 2]) * p->channels;
        weight[i] = wh[i / 2] * ww[i % 2];
    }
    nncc_f32_blend_rows(from, weight, y, p->channels);
}

void nncc_resize_f32(const nncc_resize_params *p, const float *x, const int32_t *index_h, const float *weight_h,
                     const int32_t *index_w, const float *weight_w, float *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            const int32_t *ih = index_h + oy * p->taps_h;
            const float *wh = weight_h + oy * p->taps_h;

            for (int32_t ox = 0; ox < p->out_w; ox++) {
                const int32_t *iw = index_w + ox * p->taps_w;
                const float *ww = weight_w + ox * p->taps_w;

                if (p->taps_h == 2 && p->taps_w == 2 && ih[0] >= 0 && iw[0] >= 0) {
                    nncc_f32_resize_linear(p, x, ih, wh, iw, ww, y);
                    y += p->channels;
                    continue;
                }
                for (int32_t c = 0; c < p->channels; c++) {
                    float sum = 0.0f;

                    if (ih[0] < 0 || iw[0] < 0) {
                        sum = p->outside;
                    } else {
                        for (int32_t th = 0; th < p->taps_h; th++) {
                            float row = 0.0f;

                            for (int32_t tw = 0; tw < p->taps_w; tw++) {
                                row += x[(ih[th] * p->in_w + iw[tw]) * p->channels + c] * ww[tw];
                            }
                            sum += row * wh[th];
                        }
                    }
                    *y++ = sum;
                }
            }
        }
        x += p->in_h * p->in_w * p->channels;
    }
}
