/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_dot_f32.h"
#include "nncc_f32.h"

void nncc_scale_shift_f32(const nncc_scale_shift_params *p, const float *x, const float *scale, const float *shift,
                          float *y)
{
    for (int32_t r = 0; r < p->rows; r++) {
        for (int32_t c = 0; c < p->channels; c++) {
            y[c] = nncc_clamp_f32(x[c] * scale[c] + shift[c], p->act_min, p->act_max);
        }
        x += p->channels;
        y += p->channels;
    }
}
