/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_s8.h"

void nncc_lut_rows_s8(const nncc_table_rows_params *p, const void *x, const void *table, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;
    nncc_count_params row;

    row.count = p->count;
    for (int32_t r = 0; r < p->rows; r++) {
        nncc_lut_s8(&row, from, table, to);
        from += p->x_pitch;
        to += p->y_pitch;
    }
}
