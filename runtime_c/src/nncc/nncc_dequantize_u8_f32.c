/* nncc_dequantize_u8_f32: uint8 to float32. */
#include "nncc_fp.h"

#include "nncc_quantize_f32.h"

void nncc_dequantize_u8_f32(const nncc_quantize_params *p, const uint8_t *x, const float *scale, const int32_t *zero,
                            float *y)
{
    NNCC_DEQUANTIZE();
}
