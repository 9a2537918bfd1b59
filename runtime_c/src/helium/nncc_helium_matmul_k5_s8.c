/* nncc_helium_matmul_k5_s8: dot products, rows of 5 vectors. */
#define NNCC_DOT_VECTORS 5
#define NNCC_DOT_ROUND NNCC_ROUND_ALL
#include "nncc_helium_matmul_k.h"

void nncc_helium_matmul_k5_s8(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y, int32_t rows)
{
    nncc_dot_rows(p, x, packed, y, rows);
}
