/* nncc_dequantize_s16_f32: int16 to float32. */
#include "nncc_fp.h"

#include "nncc_quantize_f32.h"

NNCC_DEQUANTIZE(nncc_dequantize_s16_f32, int16_t)
