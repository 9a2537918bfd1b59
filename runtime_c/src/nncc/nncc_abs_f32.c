/* nncc_abs_f32: y = |x|. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_abs_f32, fabsf(v))
