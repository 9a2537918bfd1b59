/* nncc_helium_matmul_unroll3_s8: dot products, 3 vectors of a row at a time. */
#define NNCC_DOT_BY 3
#include "nncc_helium_matmul_unroll.h"

void nncc_helium_matmul_unroll3_s8(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y, int32_t rows)
{
    nncc_dot_rows(p, x, packed, y, rows);
}
