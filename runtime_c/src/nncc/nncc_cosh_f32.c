/* nncc_cosh_f32: y = hyperbolic cosine. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_cosh_f32, coshf(v))
