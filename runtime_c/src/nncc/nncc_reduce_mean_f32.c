/* nncc_reduce_mean_f32: mean along an axis. */
#include "nncc_fp.h"

#include "nncc_reduce_f32.h"

void nncc_reduce_mean_f32(const nncc_axis_params *p, const float *x, float *y)
{
    NNCC_REDUCE_F32(0.0f, s + v, s / (float)p->axis);
}
