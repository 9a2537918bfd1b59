/* nncc_quantize_f32_s16: float32 to int16. */
#include "nncc_fp.h"

#include "nncc_quantize_f32.h"

NNCC_QUANTIZE(nncc_quantize_f32_s16, int16_t, -32768, 32767)
