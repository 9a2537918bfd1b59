/* nncc_atan_f32: y = arc tangent. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_atan_f32, atanf(v))
