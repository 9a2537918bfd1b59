/* nncc_max_f32: y = the larger of a and b, or NaN, with broadcast. */
#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_f32.h"

NNCC_BINARY(nncc_max_f32, float, float, u != u ? u : (u > v ? u : v))
