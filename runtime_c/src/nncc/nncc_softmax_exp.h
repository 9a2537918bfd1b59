/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_softmax_exp.h: the exponential of gemmlowp's softmax. */
#include "nncc_reciprocal.h"

/* r in Q0.31, times factor = round(2^31 * exp(-2^(k - 2))) where bit k of quarters is set. */
NNCC_APART_IF_SMALL int32_t nncc_softmax_exp_step(int32_t r, uint32_t quarters, int32_t k, int32_t factor)
{
    return (quarters & ((uint32_t)1 << k)) != 0u ? nncc_apart_mult(r, factor) : r;
}

/*
 * exp(v) in Q0.31 for v <= 0 in Q5.26: a polynomial around -1/8 for v modulo 1/4, times exp of the quarters. No loop,
 * because data decides for how many values of a row it is called.
 */
static inline int32_t nncc_softmax_exp(int32_t v)
{
    const int32_t eighth = 1895147668; /* 2^31 * exp(-1/8) */
    const int32_t third = 715827883;
    const int32_t part = (v & 0xffffff) - 0x1000000; /* in [-1/4, 0) */
    const uint32_t quarters = ((uint32_t)part - (uint32_t)v) >> 24;
    const int32_t x = part * 32 + ((int32_t)1 << 28);
    const int32_t x2 = nncc_apart_mult(x, x);
    const int32_t x3 = nncc_apart_mult(x2, x);
    const int32_t x4 = nncc_rq_shift_right(nncc_apart_mult(x2, x2), 2);
    const int32_t poly = x + nncc_rq_shift_right(nncc_apart_mult(x4 + x3, third) + x2, 1);
    int32_t r = eighth + nncc_apart_mult(eighth, poly);

    if (v == 0) {
        return INT32_MAX;
    }
    r = nncc_softmax_exp_step(r, quarters, 0, 1672461947);
    r = nncc_softmax_exp_step(r, quarters, 1, 1302514674);
    r = nncc_softmax_exp_step(r, quarters, 2, 790015084);
    r = nncc_softmax_exp_step(r, quarters, 3, 290630308);
    r = nncc_softmax_exp_step(r, quarters, 4, 39332535);
    r = nncc_softmax_exp_step(r, quarters, 5, 720401);
    return nncc_softmax_exp_step(r, quarters, 6, 242);
}

/*
 * A sum of exponentials of which the largest counts 2^19, modulo 2^32: what 8192 largest ones wrap to, 0, stands for
 * shares below half a step of int8, as all sums of 2^31 and more do.
 */
static inline uint32_t nncc_softmax_whole(uint32_t sum)
{
    return sum == 0u ? UINT32_MAX : sum;
}
