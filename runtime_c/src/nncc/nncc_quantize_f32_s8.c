/* nncc_quantize_f32_s8: float32 to int8. */
#include "nncc_fp.h"

#include "nncc_quantize_f32.h"

NNCC_QUANTIZE(nncc_quantize_f32_s8, int8_t, -128, 127)
