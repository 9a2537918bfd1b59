/* nncc_lines_s16_s8: straight functions from int16 to int8. */
#include "nncc_lines.h"

void nncc_lines_s16_s8(const nncc_lines_params *p, const int16_t *x, int8_t *y)
{
    for (int32_t i = 0; i < p->count; i++) {
        y[i] = (int8_t)nncc_lines_apply(p, x[i]);
    }
}
