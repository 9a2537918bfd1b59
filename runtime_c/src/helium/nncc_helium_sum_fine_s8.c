/* nncc_helium_sum_fine_s8: a linear function of two inputs in 31 bits, rounded down. */
#define NNCC_SUM NNCC_SUM_FINE
#include "nncc_helium_sum.h"

void nncc_helium_sum_fine_s8(const nncc_helium_sum *p, const int8_t *x, const int8_t *y, int8_t *out, int32_t n)
{
    nncc_sum(p, x, y, out, n);
}
