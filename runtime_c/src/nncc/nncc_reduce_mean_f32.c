/* nncc_reduce_mean_f32: mean along an axis. */
#include "nncc_fp.h"

#include "nncc_reduce_f32.h"

NNCC_REDUCE_F32(nncc_reduce_mean_f32, 0.0f, s + v, s / n)
