/* nncc_erf_f32: y = erf(x). */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_erf_f32, erff(v))
