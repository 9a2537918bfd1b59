/* nncc_mod_f32: y = remainder of a / b with the sign of a, with broadcast. */
#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_f32.h"

NNCC_BINARY(nncc_mod_f32, float, float, fmodf(u, v))
