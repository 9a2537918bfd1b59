/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_convolve_3x3_add_s8: 3x3 windows, the results of two tiles added to something. */
#include <string.h>

#include "nncc_dsp_residual.h"

void nncc_dsp_convolve_3x3_add_s8(const nncc_dsp_convolve_params *p, const int8_t *x, const int32_t *w, int8_t *y,
                                  int32_t *scratch, const nncc_dsp_residual_params *r, const int8_t *other,
                                  const int32_t *t_result, const int32_t *t_other)
{
    int8_t *const wait = (int8_t *)scratch + r->wait;
    nncc_dsp_tiles t = {0, 0, 0, 0, 4 * p->out_c, p->out_c};

    memset(scratch + 16 * p->in_c + 128, p->pad, (size_t)p->in_c);
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy += 2) {
            t.row = oy - p->pad_h;
            t.rows = p->out_h - oy;
            for (int32_t ox = 0; ox < p->out_w; ox += 4) {
                const int32_t cols = p->out_w - ox < 4 ? p->out_w - ox : 4;

                t.col = ox - p->pad_w;
                t.cols = cols;
                nncc_dsp_convolve_tiles_s8(p, &t, x, w, wait, scratch);
                for (int32_t k = 0; k < 2 && k < t.rows; k++) {
                    const int32_t first = (oy + k) * p->out_w + ox;

                    nncc_dsp_flush(r, cols, p->out_c, wait + k * t.y_row, other + first * r->other_pitch,
                                   y + first * r->pitch, t_result, t_other);
                }
            }
        }
        x += p->in_h * p->in_w * p->in_pitch;
        y += p->out_h * p->out_w * r->pitch;
        other += p->out_h * p->out_w * r->other_pitch;
    }
}
