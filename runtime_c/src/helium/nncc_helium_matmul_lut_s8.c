/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_lut.h"

/* Bytes of results that are still at hand when they are looked up, and the least number of rows. */
#define NNCC_TABLE_BYTES 4096
#define NNCC_TABLE_ROWS 32

void nncc_helium_matmul_lut_s8(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                               int32_t rows, nncc_helium_matmul_fn *dot, const uint8_t *table)
{
    const int32_t fit = NNCC_TABLE_BYTES / p->pitch & ~1;
    const int32_t most = fit > NNCC_TABLE_ROWS ? fit : NNCC_TABLE_ROWS;
    nncc_helium_matmul_params part = *p;

    while (rows > 0) {
        const int32_t n = rows < most + NNCC_TABLE_ROWS ? rows : most; /* the last part has all single rows */

        part.single = n == rows ? p->single : 0;
        dot(&part, x, packed, y, n);
        nncc_helium_map_rows(y, table, p, n * p->pitch);
        x += n * p->step;
        y += n * p->pitch;
        rows -= n;
    }
}
