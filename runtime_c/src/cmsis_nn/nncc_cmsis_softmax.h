/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Fixed-point exponential and reciprocal of the softmax kernels (gemmlowp's
 * polynomials, as CMSIS-NN uses them). */
#ifndef NNCC_CMSIS_SOFTMAX_H
#define NNCC_CMSIS_SOFTMAX_H

#include "nncc_cmsis.h"

/* Bits that make room for the sum of exponentials: terms are Q12.19. */
#define NNCC_SOFTMAX_ACCUM_BITS 12

/* a + b modulo 2^32. */
static inline int32_t nncc_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* v * 2^exponent, saturated. */
static inline int32_t nncc_mul_pow2(int32_t v, int32_t exponent)
{
    const int32_t limit = (int32_t)((1u << (31 - exponent)) - 1u);

    if (v > limit) {
        return INT32_MAX;
    }
    if (v < -limit) {
        return INT32_MIN;
    }
    return (int32_t)((uint32_t)v << exponent);
}

/* exp(v) in Q0.31 for v <= 0 in Q5.26. */
static inline int32_t nncc_exp_on_negative(int32_t v)
{
    /* round(2^31 * exp(-2^k)) for k = -2 ... 4 */
    static const int32_t step[7] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int32_t quarter = 1 << 24;
    const int32_t exp_minus_eighth = 1895147668;
    const int32_t third = 715827883;
    const int32_t mod = (v & (quarter - 1)) - quarter; /* in [-1/4, 0) */
    const uint32_t rest = (uint32_t)mod - (uint32_t)v;
    const int32_t x = mod * 32 + (1 << 28); /* around -1/8, Q0.31 */
    const int32_t x2 = nncc_high_mult_sat(x, x);
    const int32_t x3 = nncc_high_mult_sat(x2, x);
    const int32_t x4 = nncc_div_pow2(nncc_high_mult_sat(x2, x2), 2);
    const int32_t poly = x + nncc_div_pow2(nncc_high_mult_sat(x4 + x3, third) + x2, 1);
    int32_t r = exp_minus_eighth + nncc_high_mult_sat(exp_minus_eighth, poly);
    int32_t i;

    if (v == 0) {
        return INT32_MAX;
    }
    for (i = 0; i < 7; i++) {
        if ((rest & ((uint32_t)quarter << i)) != 0u) {
            r = nncc_high_mult_sat(r, step[i]);
        }
    }
    return r;
}

/* 1 / (1 + v) in Q0.31 for v in [-1, 1) in Q0.31. */
static inline int32_t nncc_one_over_one_plus(int32_t v)
{
    const int64_t sum = (int64_t)v + INT32_MAX;
    const int32_t half_den = (int32_t)((sum + (sum >= 0 ? 1 : -1)) / 2);
    int32_t x = nncc_add(1515870810, nncc_high_mult_sat(half_den, -1010580540)); /* 48/17 - 32/17 d */
    int32_t i;

    for (i = 0; i < 3; i++) {
        const int32_t e = (int32_t)((1u << 29) - (uint32_t)nncc_high_mult_sat(half_den, x));

        x = nncc_add(x, nncc_mul_pow2(nncc_high_mult_sat(x, e), 2));
    }
    return nncc_mul_pow2(x, 1);
}

static inline int32_t nncc_leading_zeros(uint32_t v)
{
    int32_t n = 32;

    while (v != 0u) {
        v >>= 1;
        n--;
    }
    return n;
}

/* exp of (difference << shift) scaled by mult. */
static inline int32_t nncc_softmax_term(int32_t diff, int32_t mult, int32_t shift)
{
    return nncc_exp_on_negative(nncc_high_mult_sat((int32_t)((uint32_t)diff << shift), mult));
}

/* Largest element, and scale and shift that turn a term into a share of 1. */
static inline int32_t nncc_softmax_row(const int8_t *in, int32_t size, int32_t mult, int32_t shift, int32_t diff_min,
                                       int32_t *scale, int32_t *headroom)
{
    int32_t top = in[0];
    uint32_t sum = 0;
    int32_t i;

    for (i = 1; i < size; i++) {
        top = nncc_max(top, in[i]);
    }
    for (i = 0; i < size; i++) {
        if (in[i] - top >= diff_min) {
            sum += (uint32_t)nncc_div_pow2(nncc_softmax_term(in[i] - top, mult, shift), NNCC_SOFTMAX_ACCUM_BITS);
        }
    }
    *headroom = nncc_leading_zeros(sum);
    *scale = nncc_one_over_one_plus((int32_t)((((int32_t)sum > 0) ? sum << *headroom : 0u) - (1u << 31)));
    return top;
}

#endif
