/* nncc_piecewise_linear_s16_s8: straight functions from int16 to int8. */
#include "nncc_piecewise_linear.h"

void nncc_piecewise_linear_s16_s8(const nncc_piecewise_linear_params *p, const int16_t *x, int8_t *y)
{
    for (int32_t i = 0; i < p->count; i++) {
        y[i] = (int8_t)nncc_piecewise_linear_apply(p, x[i]);
    }
}
