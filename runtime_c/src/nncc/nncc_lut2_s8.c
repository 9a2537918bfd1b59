/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_bcast_s8.h"

void nncc_lut2_s8(const nncc_bcast_params *p, const uint8_t *a, const uint8_t *b, const uint8_t *row_of,
                  const uint8_t *rows, uint8_t *y)
{
    NNCC_FOR_PAIRS(p, uint8_t, a, b, *y++ = rows[row_of[v] * 256 + u]);
}
