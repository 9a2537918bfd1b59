/* nncc_quantize_f32_u8: float32 to uint8. */
#include "nncc_fp.h"

#include "nncc_quantize_f32.h"

NNCC_QUANTIZE(nncc_quantize_f32_u8, uint8_t, 0, 255)
