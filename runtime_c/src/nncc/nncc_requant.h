/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_requant.h: TFLite's requantisation, as CMSIS-NN computes it with double rounding; sums wrap modulo 2^32. */
#include <stdint.h>

/* Upper 32 bits of 2*a*b, rounded. */
static inline int32_t nncc_rq_high_mult(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* v / 2^exponent, ties away from zero; more than 31 gives 0. */
static inline int32_t nncc_rq_shift_right(int32_t v, int32_t exponent)
{
    if (exponent > 31) {
        return 0;
    }
    int32_t mask = (int32_t)(((uint32_t)1 << exponent) - 1u);
    int32_t limit = (mask >> 1) + (v < 0 ? 1 : 0);
    return (v >> exponent) + ((v & mask) > limit ? 1 : 0);
}

/* v * mult * 2^(shift-31), rounded after the product and after the right shift. */
static inline int32_t nncc_rq(int32_t v, int32_t mult, int32_t shift)
{
    if (shift > 0) {
        return nncc_rq_high_mult((int32_t)((uint32_t)v << shift), mult);
    }
    return nncc_rq_shift_right(nncc_rq_high_mult(v, mult), -shift);
}

/* Accumulator bits acc, requantised, + offset, limited to [lo, hi]. */
static inline int8_t nncc_rq_s8(uint32_t acc, int32_t mult, int32_t shift, int32_t offset, int32_t lo, int32_t hi)
{
    const int32_t v = (int32_t)((uint32_t)nncc_rq((int32_t)acc, mult, shift) + (uint32_t)offset);

    return (int8_t)(v < lo ? lo : (v > hi ? hi : v));
}
