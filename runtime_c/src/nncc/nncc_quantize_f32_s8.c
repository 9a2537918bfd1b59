/* nncc_quantize_f32_s8: float32 to int8. */
#include "nncc_fp.h"

#include "nncc_quantize_f32.h"

void nncc_quantize_f32_s8(const nncc_quantize_params *p, const float *x, const float *scale, const int32_t *zero,
                          int8_t *y)
{
    NNCC_QUANTIZE(int8_t, -128, 127);
}
