/* nncc_dequantize_s8_f32: int8 to float32. */
#include "nncc_fp.h"

#include "nncc_quantize_f32.h"

NNCC_DEQUANTIZE(nncc_dequantize_s8_f32, int8_t)
