/* nncc_clip_f32: y = x limited to [alpha, beta]. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

void nncc_clip_f32(const nncc_unary_params *p, const float *x, float *y)
{
    NNCC_UNARY_F32(v < p->alpha ? p->alpha : (v > p->beta ? p->beta : v));
}
