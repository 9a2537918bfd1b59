/* nncc_dequantize_u8_f32: uint8 to float32. */
#include "nncc_fp.h"

#include "nncc_quantize_f32.h"

NNCC_DEQUANTIZE(nncc_dequantize_u8_f32, uint8_t)
