/* nncc_reciprocal_f32: y = 1/x. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_reciprocal_f32, 1.0f / v)
