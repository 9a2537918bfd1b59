/* nncc_prelu_f32: y = a, below 0 a times slope b, with broadcast. */
#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_element_f32.h"
#include "nncc_f32.h"

void nncc_prelu_f32(const nncc_bcast_params *p, const float *a, const float *b, float *y)
{
    NNCC_BINARY(float, nncc_el_prelu_f32(u, v));
}
