/* nncc_asin_f32: y = arc sine. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_asin_f32, asinf(v))
