/* nncc_quantize_f32_u8: float32 to uint8. */
#include "nncc_fp.h"

#include "nncc_quantize_f32.h"

void nncc_quantize_f32_u8(const nncc_quantize_params *p, const float *x, const float *scale, const int32_t *zero,
                          uint8_t *y)
{
    NNCC_QUANTIZE(uint8_t, 0, 255);
}
