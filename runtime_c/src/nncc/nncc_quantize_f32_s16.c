/* nncc_quantize_f32_s16: float32 to int16. */
#include "nncc_fp.h"

#include "nncc_quantize_f32.h"

void nncc_quantize_f32_s16(const nncc_quantize_params *p, const float *x, const float *scale, const int32_t *zero,
                           int16_t *y)
{
    NNCC_QUANTIZE(int16_t, -32768, 32767);
}
