/* nncc_greater_f32: y = a > b, with broadcast. */
#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_f32.h"

void nncc_greater_f32(const nncc_bcast_params *p, const float *a, const float *b, uint8_t *y)
{
    NNCC_BINARY(float, u > v ? 1u : 0u);
}
