/* nncc_helium_matmul_unroll5_s8: dot products, 5 vectors of a row at a time. */
#define NNCC_DOT_BY 5
#include "nncc_helium_matmul_unroll.h"

void nncc_helium_matmul_unroll5_s8(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y, int32_t rows)
{
    nncc_dot_rows(p, x, packed, y, rows);
}
