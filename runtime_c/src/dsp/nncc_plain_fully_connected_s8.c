/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_channels.h"

void nncc_plain_fully_connected_s8(const nncc_dsp_fully_connected_params *p, const int8_t *x, const int32_t *w,
                                   int8_t *y)
{
    nncc_dsp_matmul_params m = {0, p->pairs, 0, p->positive, p->low, p->cap, 4, NULL};

    for (int32_t row = 0; row < p->rows; row++) {
        nncc_dsp_channels(nncc_plain_matmul_1row_s8, &m, 1, p->out_c, p->group_words, x, w, y);
        x += p->in_pitch;
        y += p->out_pitch;
    }
}
