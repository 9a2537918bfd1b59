/* nncc_celu_f32: y = x, below 0 alpha*(exp(x/alpha)-1). */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

void nncc_celu_f32(const nncc_unary_params *p, const float *x, float *y)
{
    NNCC_UNARY_F32(nncc_el_celu_f32(v, p->alpha));
}
