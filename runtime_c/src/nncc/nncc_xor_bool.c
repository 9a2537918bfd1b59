/* nncc_xor_bool: logical xor of bool tensors, with broadcast. */
#include "nncc_bcast.h"
#include "nncc_move.h"

NNCC_BINARY(nncc_xor_bool, uint8_t, uint8_t, (uint8_t)(u ^ v))
