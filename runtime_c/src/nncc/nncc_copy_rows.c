#include "nncc_copy.h"
#include "nncc_move.h"

void nncc_copy_rows(const nncc_copy_rows_params *p, const void *x, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;

    if (p->x_pitch == p->block && p->y_pitch == p->block) {
        nncc_copy(to, from, p->rows * p->block);
        return;
    }
    const int32_t block = p->block, x_pitch = p->x_pitch, y_pitch = p->y_pitch;

    for (int32_t r = p->rows; r > 0; r--) {
        nncc_copy(to, from, block);
        from += x_pitch;
        to += y_pitch;
    }
}
