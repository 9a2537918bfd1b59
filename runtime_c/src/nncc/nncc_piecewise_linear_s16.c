/* nncc_piecewise_linear_s16: straight functions of int16 values. */
#include "nncc_piecewise_linear.h"

void nncc_piecewise_linear_s16(const nncc_piecewise_linear_params *p, const int16_t *x, int16_t *y)
{
    for (int32_t i = 0; i < p->count; i++) {
        y[i] = (int16_t)nncc_piecewise_linear_apply(p, x[i]);
    }
}
