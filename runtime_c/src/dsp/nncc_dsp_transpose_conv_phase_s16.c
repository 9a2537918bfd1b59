/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp.h"

void nncc_dsp_transpose_conv_phase_s16(const nncc_dsp_phase16_params *p, nncc_dsp_matmul16_fn *mat,
                                       nncc_dsp_matmul16_fn *threes, const int8_t *x, const int32_t *w, int8_t *y,
                                       int32_t *scratch)
{
    nncc_dsp_convolve16_params row = p->conv;

    row.batches = 1;
    row.out_h = 1;
    for (int32_t n = p->conv.batches; n > 0; n--) {
        int8_t *to = y;

        row.pad_h = p->conv.pad_h;
        for (int32_t oy = p->conv.out_h; oy > 0; oy--) {
            nncc_dsp_convolve_s16(&row, mat, threes, x, w, to, scratch);
            row.pad_h--;
            to += p->row;
        }
        x += p->conv.in_h * p->conv.in_w * p->conv.in_pitch;
        y += p->image;
    }
}
