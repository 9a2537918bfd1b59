/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_convolve_3x3_s8: 3x3 windows, two tiles of 2x2 outputs at a time. */
#include "nncc_dsp_core.h"

void nncc_dsp_convolve_3x3_s8(const nncc_dsp_convolve_params *p, const int8_t *x, const int32_t *w, int8_t *y,
                              int32_t *scratch)
{
    nncc_dsp_tiles t = {0, 0, 0, 0, p->out_w * p->out_pitch, p->out_pitch};

    memset(scratch + 16 * p->in_c + 128, p->pad, (size_t)p->in_c);
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy += 2) {
            t.row = oy - p->pad_h;
            t.rows = p->out_h - oy;
            for (int32_t ox = 0; ox < p->out_w; ox += 4) {
                t.col = ox - p->pad_w;
                t.cols = p->out_w - ox;
                nncc_dsp_convolve_tiles_s8(p, &t, x, w, y + oy * t.y_row + ox * t.y_pitch, scratch);
            }
        }
        x += p->in_h * p->in_w * p->in_pitch;
        y += p->out_h * t.y_row;
    }
}
