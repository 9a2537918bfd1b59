/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium.h"

void nncc_helium_transpose_conv_phase_s8(const nncc_helium_phase_params *p, const int8_t *x, const int8_t *packed,
                                         int8_t *scratch, int8_t *y, nncc_helium_matmul_fn *dot)
{
    nncc_helium_convolve_params row = p->conv;

    row.batch = 1;
    row.out_h = 1;
    for (int32_t n = p->conv.batch; n > 0; n--) {
        int8_t *to = y;

        row.pad_top = p->conv.pad_top;
        for (int32_t oy = p->conv.out_h; oy > 0; oy--) {
            nncc_helium_convolve_s8(&row, x, packed, scratch, to, dot);
            row.pad_top--;
            to += p->row;
        }
        x += p->conv.in_h * p->conv.in_w * p->conv.in_pitch;
        y += p->image;
    }
}
