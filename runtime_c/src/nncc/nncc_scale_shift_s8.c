/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_affine.h"

void nncc_scale_shift_s8(const nncc_rows_params *p, const int8_t *x, const nncc_affine_s8 *affine, int8_t *y)
{
    for (int32_t r = 0; r < p->rows; r++) {
        for (int32_t c = 0; c < p->channels; c++) {
            y[c] = nncc_affine_apply(&affine[c], x[c], p->act_min, p->act_max);
        }
        x += p->channels;
        y += p->channels;
    }
}
