/* nncc_less_f32: y = a < b, with broadcast. */
#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_f32.h"

NNCC_BINARY(nncc_less_f32, float, uint8_t, u < v ? 1u : 0u)
