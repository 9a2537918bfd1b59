/* nncc_neg_f32: y = -x. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

void nncc_neg_f32(const nncc_unary_params *p, const float *x, float *y)
{
    NNCC_UNARY_F32(nncc_el_neg_f32(v));
}
