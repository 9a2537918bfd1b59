/* nncc_elu_f32: y = x, below 0 alpha*(exp(x)-1). */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_elu_f32, v < 0.0f ? p->alpha * expm1f(v) : v)
