/* nncc_sqrt_f32: y = square root. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_sqrt_f32, sqrtf(v))
