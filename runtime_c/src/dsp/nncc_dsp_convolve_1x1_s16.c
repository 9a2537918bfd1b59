/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_channels_s16.h"

void nncc_dsp_convolve_1x1_s16(const nncc_dsp_fully_connected16_params *p, nncc_dsp_matmul16_fn *mat, const int8_t *x,
                               const int32_t *w, int8_t *y, int32_t *scratch)
{
    nncc_dsp_matmul16_params m = {0, p->pairs, p->out_pitch, p->act_min, p->act_max, 4, 2};
    int8_t *const room = (int8_t *)(scratch + 4 * p->pairs);

    for (int32_t row = 0; row < p->rows; row += 4) {
        const int32_t last = p->rows - 1 - row, count = last < 3 ? last + 1 : 4;
        const int8_t *const b = x + (last < 1 ? last : 1) * p->in_pitch;
        const int8_t *const c = x + (last < 2 ? last : 2) * p->in_pitch;
        const int8_t *const d = x + (last < 3 ? last : 3) * p->in_pitch;

        (void)nncc_dsp_interleave_4rows_s16(x, b, nncc_dsp_wanted16(count, 2, c), nncc_dsp_wanted16(count, 3, d),
                                            p->in_c, scratch);
        nncc_dsp_pixels16(mat, &m, count, p->out_c, p->group_words, scratch, w, y, room);
        x += 4 * p->in_pitch;
        y += 4 * p->out_pitch;
    }
}
