/* nncc_acos_f32: y = arc cosine. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_acos_f32, acosf(v))
