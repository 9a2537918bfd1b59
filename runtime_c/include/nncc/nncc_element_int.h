/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_element_int.h: functions of one quantised element, as the kernels on whole tensors compute them. The integer
 * counterpart of nncc_element_f32.h; values are the stored integers.
 */
#include <stdint.h>

#include "nncc_requant.h"
#include "nncc_round.h"

/* v limited to [lo, hi]. */
static inline int32_t nncc_el_limit(int32_t v, int32_t lo, int32_t hi)
{
    return v < lo ? lo : (v > hi ? hi : v);
}

/* Requantisation as TFLite defines it: v * mult * 2^(left - 31), rounded once. */
static inline int32_t nncc_el_up(int32_t v, int32_t mult, int32_t left)
{
    return nncc_rq_high_mult((int32_t)((uint32_t)v << left), mult);
}

/* v * mult * 2^(-31 - right), rounded after the product and, with ties away from zero, after the shift of 1 to 31. */
static inline int32_t nncc_el_down(int32_t v, int32_t mult, int32_t right)
{
    const int32_t h = nncc_rq_high_mult(v, mult);

    return (((h < 0 ? h - 1 : h) >> (right - 1)) + 1) >> 1;
}

/* The same and an offset in one multiplication, where nncc has proven that m, c and s give it. */
static inline int32_t nncc_el_once(int32_t v, int32_t m, int32_t c, int32_t s)
{
    const int32_t h = (int32_t)(((int64_t)(2 * v) * m + 0x80000000LL) >> 32) + c;

    return (v < 0 ? h - 1 : h) >> s;
}

/* An int16 function by straight lines between 513 points: TFLite's look-up, as nncc_interpolated_lut_s16. */
static inline int32_t nncc_el_interpolated_lut_s16(const int16_t *points, int32_t q)
{
    const int16_t *at = points + 256 + (q >> 7);
    const int16_t slope = (int16_t)(at[1] - at[0]);
    const int16_t step = (int16_t)((slope * (q & 127) + 64) >> 7);

    return (int16_t)(at[0] + step);
}
