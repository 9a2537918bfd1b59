/* nncc_sub_f32: y = a - b, with broadcast. */
#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_f32.h"

NNCC_BINARY(nncc_sub_f32, float, float, u - v)
