/* nncc_sign_f32: y = -1, 0 or 1. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

void nncc_sign_f32(const nncc_unary_params *p, const float *x, float *y)
{
    NNCC_UNARY_F32(nncc_el_sign_f32(v));
}
