/* nncc_hard_swish_f32: y = x*hard_sigmoid(x, 1/6, 1/2). */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

void nncc_hard_swish_f32(const nncc_unary_params *p, const float *x, float *y)
{
    NNCC_UNARY_F32(nncc_el_hard_swish_f32(v));
}
