/* nncc_dequantize_s32_f32: int32 to float32. */
#include "nncc_fp.h"

#include "nncc_quantize_f32.h"

NNCC_DEQUANTIZE(nncc_dequantize_s32_f32, int32_t)
