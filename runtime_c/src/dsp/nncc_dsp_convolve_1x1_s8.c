/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_channels.h"

void nncc_dsp_convolve_1x1_s8(const nncc_dsp_fully_connected_params *p, nncc_dsp_widen_fn *widen,
                              nncc_dsp_matmul_fn *mat, const int8_t *x, const int32_t *w, int8_t *y, int32_t *scratch)
{
    nncc_dsp_matmul_params m = {p->out_c >> 2, p->pairs, p->out_pitch, p->positive, p->low, p->cap, 4, p->table};
    const nncc_dsp_runs pixel = {p->in_c, 1, 0};
    const int32_t y_step = 2 * p->out_pitch, whole = (p->out_c & 3) == 0;
    int32_t x_step = p->in_pitch;

    for (int32_t left = p->rows; left > 0; left -= 2) {
        if (left == 1) {
            m.y_step = 0;
            x_step = 0;
        }
        (void)widen(&pixel, x, x + x_step, scratch);
        if (whole) {
            mat(&m, scratch, w, y);
        } else {
            nncc_dsp_channels(mat, &m, 2, p->out_c, p->group_words, scratch, w, y);
        }
        x += 2 * x_step;
        y += y_step;
    }
}
