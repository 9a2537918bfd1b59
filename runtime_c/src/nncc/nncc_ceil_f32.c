/* nncc_ceil_f32: y = smallest integer not below x. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

void nncc_ceil_f32(const nncc_unary_params *p, const float *x, float *y)
{
    NNCC_UNARY_F32(nncc_el_ceil_f32(v));
}
