/* nncc_helium_add_linear_s8: a linear function of two inputs, rounded down. */
#define NNCC_SUM NNCC_SUM_DOWN
#include "nncc_helium_add_linear.h"

void nncc_helium_add_linear_s8(const nncc_helium_add_linear_params *p, const int8_t *x, const int8_t *y, int8_t *out, int32_t n)
{
    nncc_sum(p, x, y, out, n);
}
