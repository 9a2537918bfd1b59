/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_residual.h"

void nncc_helium_matmul_add_s8(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed,
                               int8_t *scratch, int8_t *y, int32_t rows, nncc_helium_matmul_fn *dot,
                               const nncc_helium_residual_params *r, const int8_t *other, nncc_helium_add_linear_fn *fn)
{
    nncc_helium_matmul_params part = *p;

    while (rows > 0) {
        const int32_t n = rows <= r->pixels + p->single ? rows : r->pixels; /* the last part has all single rows */

        part.single = n == rows ? p->single : 0;
        dot(&part, x, packed, scratch, n);
        nncc_residual_flush(r, fn, p->pitch, scratch, other, y, n);
        x += n * p->step;
        y += n * r->pitch;
        other += n * r->other_pitch;
        rows -= n;
    }
}
