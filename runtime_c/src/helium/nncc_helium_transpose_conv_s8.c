/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium.h"

void nncc_helium_transpose_conv_s8(const nncc_helium_transpose_conv_params *p, const int8_t *x, const int8_t *packed,
                                   int8_t *y, nncc_helium_matmul_fn *dot)
{
    nncc_helium_matmul_params row = p->mac;

    for (int32_t r = p->rows - 1; r >= 0; r--) {
        row.single = p->mac.single > r * p->width ? p->mac.single - r * p->width : 0;
        for (int32_t k = 0; k < p->kernel_h; k++) {
            dot(&row, x, packed + k * p->row_bytes, y, p->width);
            y += p->width * p->mac.pitch;
        }
        x += p->width * p->mac.step;
    }
}
