/* nncc_atanh_f32: y = inverse hyperbolic tangent. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_atanh_f32, atanhf(v))
