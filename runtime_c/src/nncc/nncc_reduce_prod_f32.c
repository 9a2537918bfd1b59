/* nncc_reduce_prod_f32: product along an axis. */
#include "nncc_fp.h"

#include "nncc_reduce_f32.h"

NNCC_REDUCE_F32(nncc_reduce_prod_f32, 1.0f, s * v, s)
