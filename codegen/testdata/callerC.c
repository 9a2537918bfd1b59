/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include "quantised.h"
static uint8_t arena[QUANTISED_ARENA_BYTES] __attribute__((aligned(16)));
int main(void)
{
    size_t i;
    int8_t *x = quantised_x(arena);
    for (i = 0; i < QUANTISED_X_ELEMS; i++) { x[i] = (int8_t)(i * 37u); }
    if (quantised_run(arena) != NNCC_OK) { return 1; }
    for (i = 0; i < QUANTISED_Y_ELEMS; i++) { printf("%d ", quantised_y(arena)[i]); }
    return 0;
}
