/* nncc_reduce_min_f32: minimum (NaN wins) along an axis. */
#include "nncc_fp.h"

#include "nncc_reduce_f32.h"

void nncc_reduce_min_f32(const nncc_axis_params *p, const float *x, float *y)
{
    NNCC_REDUCE_F32(v, s != s ? s : (s < v ? s : v), s);
}
