/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp.h"

/* Copies the runs of a row of the phase that are bytes of a line. */
static void put_line(const nncc_dsp_phase_params *p, const int8_t *from, int8_t *y)
{
    for (int32_t left = p->wide; left > 0; left -= p->step) {
        int32_t n = left < p->run ? left : p->run;

        for (int32_t i = 0; i < n; i++) {
            y[i] = from[i];
        }
        from += p->conv.out_c;
        y += p->step;
    }
}

void nncc_dsp_transpose_conv_phase_s8(const nncc_dsp_phase_params *p, nncc_dsp_widen_fn *widen, nncc_dsp_matmul_fn *mat,
                                      const int8_t *x, const int32_t *w, int8_t *y, int32_t *scratch)
{
    nncc_dsp_convolve_params row = p->conv;
    int8_t *const buffer = (int8_t *)scratch + p->buffer;

    row.batches = 1;
    row.out_h = 1;
    for (int32_t n = p->conv.batches; n > 0; n--) {
        int8_t *to = y;
        int32_t high = p->high;

        row.pad_h = p->conv.pad_h;
        for (int32_t oy = p->conv.out_h; oy > 0; oy--) {
            nncc_dsp_convolve_s8(&row, widen, mat, x, w, p->lines > 0 ? buffer : to, scratch);
            for (int32_t i = 0; i < p->lines && i < high; i++) {
                put_line(p, buffer + i * p->run, to + i * p->pitch);
            }
            high -= p->down;
            row.pad_h--;
            to += p->row;
        }
        x += p->conv.in_h * p->conv.in_w * p->conv.in_pitch;
        y += p->image;
    }
}
