/* nncc_pow_f32: y = a to the power b, with broadcast. */
#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_f32.h"

void nncc_pow_f32(const nncc_bcast_params *p, const float *a, const float *b, float *y)
{
    NNCC_BINARY(float, powf(u, v));
}
