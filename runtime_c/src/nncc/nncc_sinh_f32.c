/* nncc_sinh_f32: y = hyperbolic sine. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_sinh_f32, sinhf(v))
