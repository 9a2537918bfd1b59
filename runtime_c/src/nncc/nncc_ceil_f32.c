/* nncc_ceil_f32: y = smallest integer not below x. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_ceil_f32, ceilf(v))
