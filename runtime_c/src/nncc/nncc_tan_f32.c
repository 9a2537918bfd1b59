/* nncc_tan_f32: y = tangent. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_tan_f32, tanf(v))
