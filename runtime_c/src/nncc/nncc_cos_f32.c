/* nncc_cos_f32: y = cosine. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_cos_f32, cosf(v))
