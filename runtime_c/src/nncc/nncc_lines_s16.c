/* nncc_lines_s16: straight functions of int16 values. */
#include "nncc_lines.h"

void nncc_lines_s16(const nncc_lines_params *p, const int16_t *x, int16_t *y)
{
    for (int32_t i = 0; i < p->count; i++) {
        y[i] = (int16_t)nncc_lines_apply(p, x[i]);
    }
}
