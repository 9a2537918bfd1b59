/* nncc_tanh_f32: y = hyperbolic tangent. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_tanh_f32, tanhf(v))
