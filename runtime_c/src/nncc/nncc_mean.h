/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_mean.h: from an exact integer sum to a quantised sum, mean or weighted mean. */
#include "nncc_round.h"

/* clamp(round_half_away(acc / n) + zero), n > 0, |acc| + n/2 < 2^31. */
static inline int8_t nncc_mean_s8(int32_t acc, int32_t n, int32_t zero, int32_t lo, int32_t hi)
{
    const int32_t v = (acc < 0 ? acc - n / 2 : acc + n / 2) / n;

    /* The zero point is added only where it cannot overflow. */
    if (v > 65536 || v < -65536) {
        return (int8_t)(v < 0 ? lo : hi);
    }
    return (int8_t)(v + zero < lo ? lo : (v + zero > hi ? hi : v + zero));
}

/* clamp(round_half_away(acc * in_scale / n / out_scale) + zero), rounded to double after each step. */
static inline int8_t nncc_mean_scaled_s8(int32_t acc, double in_scale, int32_t n, double out_scale, int32_t zero,
                                         int32_t lo, int32_t hi)
{
    double v = (double)acc * in_scale;

    v = v / (double)n;
    return (int8_t)nncc_round_away(v / out_scale, zero, lo, hi);
}

/* The same where (acc * mult + bias) >> shift is proven to be what rounds: clamped. */
static inline int8_t nncc_mean_mult_s8(int32_t acc, int32_t mult, int64_t bias, int32_t shift, int32_t lo, int32_t hi)
{
    const int64_t v = ((int64_t)acc * mult + bias) >> shift;

    return (int8_t)(v < lo ? lo : (v > hi ? hi : v));
}
