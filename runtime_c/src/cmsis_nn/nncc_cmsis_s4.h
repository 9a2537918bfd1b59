/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Shared by the portable kernels with int4 filters. */
#include "nncc_cmsis.h"

/* Weight i of a packed filter: two a byte, the first one in the low half. */
static inline int32_t nncc_s4(const int8_t *w, int32_t i)
{
    const uint32_t half = ((uint32_t)(uint8_t)w[i >> 1] >> ((i & 1) * 4)) & 15u;

    return (int32_t)(half ^ 8u) - 8;
}

/* The sum of (in[i] + offset) * weight at + i. */
uint32_t nncc_cmsis_dot_s4(const int8_t *in, int32_t len, int32_t offset, const int8_t *w, int32_t at);
