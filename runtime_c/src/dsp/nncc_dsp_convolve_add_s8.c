/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_convolve_add_s8: a convolution that is added to something, some rows at a time: rows of the output from the
 * middle of an image are a convolution with less padding above, which may be negative.
 */
#include "nncc_dsp_residual.h"

void nncc_dsp_convolve_add_s8(const nncc_dsp_convolve_params *p, nncc_dsp_widen_fn *widen, nncc_dsp_matmul_fn *mat,
                              const int8_t *x, const int32_t *w, int8_t *y, int32_t *scratch,
                              const nncc_dsp_residual_params *r, const int8_t *other, const int32_t *t_result,
                              const int32_t *t_other)
{
    nncc_dsp_convolve_params part = *p;
    int8_t *const wait = (int8_t *)scratch + r->wait;

    part.batches = 1;
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy += part.out_h) {
            part.out_h = p->out_h - oy < r->part ? p->out_h - oy : r->part;
            part.pad_h = p->pad_h - oy * p->stride_h;
            int32_t pixels = part.out_h * p->out_w;
            nncc_dsp_convolve_s8(&part, widen, mat, x, w, wait, scratch);
            nncc_dsp_flush(r, pixels, p->out_c, wait, other, y, t_result, t_other);
            other += pixels * r->other_pitch;
            y += pixels * r->pitch;
        }
        x += p->in_h * p->in_w * p->in_pitch;
    }
}
