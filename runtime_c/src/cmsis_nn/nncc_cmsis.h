/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * Shared by the portable CMSIS-NN kernels; not part of any interface.
 *
 * The arithmetic is that of CMSIS-NN revision 99f736a6 (which follows the
 * TensorFlow Lite int8 specification), written so that no step is undefined
 * in C: sums and left shifts are made in uint32_t and wrap.
 */
#include "arm_nnfunctions.h"

static inline int32_t nncc_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t nncc_max(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Upper word of 2 * a * b, rounded; wraps for the one overflow. */
static inline int32_t nncc_high_mult(int32_t a, int32_t b)
{
#if defined(__thumb__) && !defined(__thumb2__)
    /* No instruction has products of 64 bits: those of halves, whose carries fit. */
    const int32_t ah = a >> 16, al = a & 0xffff, bh = b >> 16, bl = b & 0xffff;
    const int32_t s = ah * bl + (int32_t)(((uint32_t)al * (uint32_t)bl) >> 16);
    const int32_t t = al * bh + (s & 0xffff);

    return (int32_t)(((uint32_t)(ah * bh + (s >> 16) + (t >> 16)) << 1) + ((((uint32_t)t >> 14 & 3u) + 1u) >> 1));
#else
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
#endif
}

/* v / 2^exponent, ties away from zero, for 0 <= exponent <= 62. */
static inline int32_t nncc_div_pow2(int32_t v, int32_t exponent)
{
    if (exponent == 0) {
        return v;
    }
    if (exponent > 31) {
        return 0; /* |v| <= 2^31: at most a half, and -2^31 / 2^32 is met nowhere */
    }
    {
        const uint32_t mask = (1u << exponent) - 1u;
        const uint32_t rest = (uint32_t)v & mask;
        const uint32_t half = (mask >> 1) + (v < 0 ? 1u : 0u);
        return (v >> exponent) + (rest > half ? 1 : 0);
    }
}

/* v * multiplier * 2^(shift - 31) for a multiplier of 0 or more and a shift in
 * [-31, 30]. */
static inline int32_t nncc_requantize(int32_t v, int32_t multiplier, int32_t shift)
{
#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
    const int64_t p = ((int64_t)v * multiplier) >> (30 - shift);
    return (int32_t)((p + 1) >> 1);
#else
    if (shift >= 0) {
        return nncc_high_mult((int32_t)((uint32_t)v << shift), multiplier);
    }
    v = nncc_high_mult(v, multiplier);
    /* As nncc_div_pow2. A multiplier below 2^31 never leaves INT32_MIN here. */
    v = (int32_t)((uint32_t)v - (v < 0 ? 1u : 0u));
    return ((v >> (-shift - 1)) + 1) >> 1;
#endif
}

/* Requantised, offset and clamped: the end of every kernel. */
static inline int8_t nncc_output(uint32_t acc, int32_t multiplier, int32_t shift, int32_t offset,
                                 const cmsis_nn_activation *act)
{
    const int32_t v = nncc_requantize((int32_t)acc, multiplier, shift) + offset;
    return (int8_t)nncc_min(nncc_max(v, act->min), act->max);
}

/* The kernel taps [*lo, *hi) that fall inside the data: tap k reads element
 * start + k * dilation of "extent" elements. Empty where *lo >= *hi. */
static inline void nncc_cut_window(int32_t start, int32_t extent, int32_t kernel, int32_t dilation, int32_t *lo,
                                   int32_t *hi)
{
    *lo = start < 0 ? (dilation - 1 - start) / dilation : 0;
    *hi = nncc_min(kernel, (extent - start + dilation - 1) / dilation);
}

/* acc[j] += sum over i of (in[i] + offset) * w[j][at + i], for four filter rows at
 * once. A function of its own: the loop needs every register. */
void nncc_cmsis_dot4(const int8_t *in, int32_t len, int32_t offset, const int8_t *const w[4], int32_t at,
                     uint32_t acc[4]);

/* Sets n of the four sums to their bias, or to 0 where bias is NULL. */
static inline void nncc_start4(int32_t n, const int32_t *bias, uint32_t acc[4])
{
    int32_t j;

    for (j = 0; j < n; j++) {
        acc[j] = bias != NULL ? (uint32_t)bias[j] : 0u;
    }
    for (; j < 4; j++) {
        acc[j] = 0u;
    }
}

/* Writes n requantised sums and returns a pointer past them. Consecutive
 * multipliers and shifts are quant_step elements apart: 1 or, for all, 0. */
int8_t *nncc_cmsis_store(const uint32_t *acc, int32_t n, const int32_t *multiplier, const int32_t *shift,
                         int32_t quant_step, int32_t offset, const cmsis_nn_activation *act, int8_t *out);

/* Starts a block of n (1 to 4) filter rows that lie "stride" bytes apart, the
 * first one at "first": rows beyond n repeat the first, their sums are dropped. */
static inline void nncc_block4(const int8_t *first, int32_t stride, int32_t n, const int32_t *bias, const int8_t *w[4],
                               uint32_t acc[4])
{
    w[0] = first;
    w[1] = n > 1 ? first + stride : first;
    w[2] = n > 2 ? first + 2 * stride : first;
    w[3] = n > 3 ? first + 3 * stride : first;
    nncc_start4(n, bias, acc);
}
