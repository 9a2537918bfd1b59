/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include "fat.h"
#include "fat_weights.h"
static uint8_t arena[FAT_ARENA_BYTES] __attribute__((aligned(16)));
int main(void)
{
    size_t i;
    for (i = 0; i < FAT_X_ELEMS; i++) { fat_x(arena)[i] = (float)(i % 7u); }
    if (fat_run(arena) != NNCC_OK || ((uintptr_t)fat_weights_bin & 15u) != 0u) { return 1; }
    for (i = 0; i < FAT_Y_ELEMS; i++) { printf("%a ", (double)fat_y(arena)[i]); }
    return 0;
}
