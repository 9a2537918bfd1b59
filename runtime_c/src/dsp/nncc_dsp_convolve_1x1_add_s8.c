/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_residual.h"

void nncc_dsp_convolve_1x1_add_s8(const nncc_dsp_fully_connected_params *p, nncc_dsp_widen_fn *widen,
                                  nncc_dsp_matmul_fn *mat, const int8_t *x, const int32_t *w, int8_t *y,
                                  int32_t *scratch, const nncc_dsp_residual_params *r, const int8_t *other,
                                  const int32_t *t_result, const int32_t *t_other)
{
    nncc_dsp_fully_connected_params part = *p;
    int8_t *const wait = (int8_t *)scratch + r->wait;

    for (int32_t left = p->rows; left > 0; left -= part.rows) {
        part.rows = left < r->part ? left : r->part;
        nncc_dsp_convolve_1x1_s8(&part, widen, mat, x, w, wait, scratch);
        nncc_dsp_flush(r, part.rows, p->out_c, wait, other, y, t_result, t_other);
        x += part.rows * p->in_pitch;
        other += part.rows * r->other_pitch;
        y += part.rows * r->pitch;
    }
}
