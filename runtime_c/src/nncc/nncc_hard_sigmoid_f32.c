/* nncc_hard_sigmoid_f32: y = alpha*x+beta limited to [0, 1]. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

void nncc_hard_sigmoid_f32(const nncc_unary_params *p, const float *x, float *y)
{
    NNCC_UNARY_F32(nncc_el_hard_sigmoid_f32(v, p->alpha, p->beta));
}
