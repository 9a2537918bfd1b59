/* nncc_softsign_f32: y = x/(1+|x|). */
#include "nncc_fp.h"

#include "nncc_unary_f32.h"

NNCC_UNARY_F32(nncc_softsign_f32, v / (1.0f + fabsf(v)))
