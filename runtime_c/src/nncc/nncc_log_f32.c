/* nncc_log_f32: y = natural logarithm. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_log_f32, logf(v))
