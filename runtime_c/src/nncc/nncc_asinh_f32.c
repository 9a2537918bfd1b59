/* nncc_asinh_f32: y = inverse hyperbolic sine. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_asinh_f32, asinhf(v))
