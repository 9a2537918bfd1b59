/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_channels.h"

void nncc_dsp_convolve_1x1_s8(const nncc_dsp_fully_connected_params *p, nncc_dsp_widen_fn *widen,
                              nncc_dsp_matmul_fn *mat, const int8_t *x, const int32_t *w, int8_t *y, int32_t *scratch)
{
    nncc_dsp_matmul_params m = {0, p->pairs, p->out_pitch, p->positive, p->low, p->cap, 4, p->table};
    int32_t in_step = p->in_pitch;

    for (int32_t row = 0; row < p->rows; row += 2) {
        if (row + 1 == p->rows) {
            m.y_step = 0;
            in_step = 0;
        }
        (void)widen(x, x + in_step, p->in_c, scratch);
        nncc_dsp_channels(mat, &m, 2, p->out_c, p->group_words, scratch, w, y);
        x += 2 * p->in_pitch;
        y += 2 * p->out_pitch;
    }
}
