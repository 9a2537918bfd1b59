/* nncc_sin_f32: y = sine. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_sin_f32, sinf(v))
