/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_widen_row.h"
#include "nncc_dsp_channels.h"

void nncc_dsp_fully_connected_s8(const nncc_dsp_fully_connected_params *p, nncc_dsp_matmul_fn *mat, const int8_t *x,
                                 const int32_t *w, int8_t *y, int32_t *scratch)
{
    nncc_dsp_matmul_params m = {0, p->pairs, 0, p->positive, p->low, p->cap, 4, NULL};

    for (int32_t row = 0; row < p->rows; row++) {
        nncc_dsp_widen_row(x, p->in_c, p->pairs, scratch);
        nncc_dsp_channels(mat, &m, 1, p->out_c, p->group_words, scratch, w, y);
        x += p->in_pitch;
        y += p->out_pitch;
    }
}
