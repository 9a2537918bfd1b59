/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_core.h"

void nncc_helium_add_linear_strided_s8(const nncc_helium_add_linear_strided_params *p, nncc_helium_add_linear_fn *fn,
                                       const int8_t *x, const int8_t *y, int8_t *out)
{
    for (int32_t r = 0; r < p->rows; r++) {
        fn(&p->sum, x, y, out, p->n);
        x += p->x_pitch;
        y += p->y_pitch;
        out += p->out_pitch;
    }
}
