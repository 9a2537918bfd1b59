/* nncc_acos_f32: y = arc cosine. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

void nncc_acos_f32(const nncc_unary_params *p, const float *x, float *y)
{
    NNCC_UNARY_F32(nncc_el_acos_f32(v));
}
