/* nncc_xor_bool: logical xor of bool tensors, with broadcast. */
#include "nncc_bcast.h"
#include "nncc_move.h"

void nncc_xor_bool(const nncc_bcast_params *p, const uint8_t *a, const uint8_t *b, uint8_t *y)
{
    NNCC_BINARY(uint8_t, (uint8_t)(u ^ v));
}
