/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Shared by the portable int16 kernels of the CMSIS-NN family: int16 data with
 * zero point 0, int8 filters, exact sums in 64 bits. */
#include "nncc_cmsis.h"

/* So many products of int16 and int8 have a sum that int32 holds. */
#define NNCC_S16_RUN 256

/* A Q31 multiplier as the Q15 one of nncc_requantize_s64. */
static inline int32_t nncc_reduce_multiplier(int32_t multiplier)
{
    return multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
}

/* v * multiplier * 2^(shift - 15), rounded once, for a Q15 multiplier and a shift
 * of at most 14. */
static inline int32_t nncc_requantize_s64(int64_t v, int32_t multiplier, int32_t shift)
{
    const int64_t p = (v * multiplier) >> (14 - shift);

    return (int32_t)((uint32_t)(uint64_t)p + 1u) >> 1;
}

/* Requantised and clamped: the end of every kernel with 64-bit sums. */
static inline int16_t nncc_output_s64(int64_t acc, int32_t multiplier, int32_t shift, const cmsis_nn_activation *act)
{
    const int32_t v = nncc_requantize_s64(acc, nncc_reduce_multiplier(multiplier), shift);

    return (int16_t)nncc_min(nncc_max(v, act->min), act->max);
}

/* The same for 32-bit values. */
static inline int16_t nncc_output_s16(int32_t v, int32_t multiplier, int32_t shift, const cmsis_nn_activation *act)
{
    return (int16_t)nncc_min(nncc_max(nncc_requantize(v, multiplier, shift), act->min), act->max);
}

/* The sum of in[i * in_step] * w[i * w_step]. */
int64_t nncc_cmsis_dot_s16(const int16_t *in, int32_t in_step, const int8_t *w, int32_t w_step, int32_t len);

/* acc[j] += sum over i of in[i] * w[j][at + i], for four filter rows at once. */
void nncc_cmsis_dot4_s16(const int16_t *in, int32_t len, const int8_t *const w[4], int32_t at, int64_t acc[4]);
