/* nncc_round_f32: y = nearest integer, halves to even. */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_round_f32, rintf(v))
