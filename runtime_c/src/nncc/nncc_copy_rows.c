#include "nncc_move.h"

#include <string.h>

void nncc_copy_rows(const nncc_copy_rows_params *p, const void *x, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;

    if (p->x_pitch == p->block && p->y_pitch == p->block) {
        memcpy(to, from, (size_t)p->rows * (size_t)p->block);
        return;
    }
    for (int32_t r = 0; r < p->rows; r++) {
        memcpy(to + r * p->y_pitch, from + r * p->x_pitch, (size_t)p->block);
    }
}
