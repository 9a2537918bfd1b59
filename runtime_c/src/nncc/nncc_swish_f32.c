/* nncc_swish_f32: y = x*sigmoid(alpha*x); alpha = 1 is SiLU. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

void nncc_swish_f32(const nncc_unary_params *p, const float *x, float *y)
{
    NNCC_UNARY_F32(nncc_el_swish_f32(v, p->alpha));
}
