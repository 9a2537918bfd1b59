/* nncc_prelu_f32: y = a, below 0 a times slope b, with broadcast. */
#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_f32.h"

NNCC_BINARY(nncc_prelu_f32, float, float, u < 0.0f ? u * v : u)
