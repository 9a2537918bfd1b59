/* nncc_pow_f32: y = a to the power b, with broadcast. */
#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_f32.h"

NNCC_BINARY(nncc_pow_f32, float, float, powf(u, v))
