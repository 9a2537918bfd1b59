/* nncc_exp_f32: y = exp(x). */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_exp_f32, expf(v))
