/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium.h"

void nncc_helium_matmul_blocks_s8(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                                  int32_t rows, nncc_helium_matmul_fn *dot)
{
    const int behind = (uintptr_t)y > (uintptr_t)x;
    const uintptr_t far = behind ? (uintptr_t)y - (uintptr_t)x : (uintptr_t)x - (uintptr_t)y;
    const int32_t from = behind ? p->pitch : p->step;
    const int32_t to = behind ? p->step : p->pitch;
    nncc_helium_matmul_params part = *p;
    int32_t n = rows;

    if (far < (uintptr_t)(rows * to)) {
        n = (to > from ? ((int32_t)far - rows * (to - from)) / from : (int32_t)far / to) & ~1;
        if (n < 2) {
            n = 2; /* nearer than any results may lie */
        }
    }
    for (int32_t left = rows; left > 0; left -= n) {
        const int32_t done = rows - left;

        if (n > left) {
            n = left;
        }
        int32_t at = behind ? left - n : done;
        int32_t after = behind ? done : left - n;
        part.single = p->single > after ? p->single - after : 0;
        dot(&part, x + at * p->step, packed, y + at * p->pitch, n);
    }
}
