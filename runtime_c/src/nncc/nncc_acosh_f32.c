/* nncc_acosh_f32: y = inverse hyperbolic cosine. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_acosh_f32, acoshf(v))
