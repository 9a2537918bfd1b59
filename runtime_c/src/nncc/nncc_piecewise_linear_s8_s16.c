/* nncc_piecewise_linear_s8_s16: straight functions from int8 to int16. */
#include "nncc_piecewise_linear.h"

void nncc_piecewise_linear_s8_s16(const nncc_piecewise_linear_params *p, const int8_t *x, int16_t *y)
{
    for (int32_t i = 0; i < p->count; i++) {
        y[i] = (int16_t)nncc_piecewise_linear_apply(p, x[i]);
    }
}
