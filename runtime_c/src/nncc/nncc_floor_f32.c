/* nncc_floor_f32: y = largest integer not above x. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_floor_f32, floorf(v))
