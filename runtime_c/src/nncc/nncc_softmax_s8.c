/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_reciprocal.h"
#include "nncc_s8.h"

/* Fraction bits that the sum of exponentials gives up for range. */
#define NNCC_SOFTMAX_SUM_BITS 12

/* exp(v) as Q0.31 for v <= 0 in Q5.26. */
static int32_t nncc_softmax_exp(int32_t v)
{
    /* 2^31 * exp(-2^k) for k = -2..4 */
    static const int32_t step[7] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int32_t eighth = 1895147668; /* 2^31 * exp(-1/8) */
    const int32_t third = 715827883;
    const int32_t part = (v & 0xffffff) - 0x1000000; /* in [-1/4, 0) */
    const int32_t rest = part - v;
    const int32_t x = part * 32 + ((int32_t)1 << 28);
    const int32_t x2 = nncc_rq_high_mult(x, x);
    const int32_t x3 = nncc_rq_high_mult(x2, x);
    const int32_t x4 = nncc_rq_shift_right(nncc_rq_high_mult(x2, x2), 2);
    const int32_t poly = x + nncc_rq_shift_right(nncc_rq_high_mult(x4 + x3, third) + x2, 1);
    int32_t r = eighth + nncc_rq_high_mult(eighth, poly);

    if (v == 0) {
        return INT32_MAX;
    }
    for (int32_t i = 0; i < 7; i++) {
        if ((rest & ((int32_t)1 << (24 + i))) != 0) {
            r = nncc_rq_high_mult(r, step[i]);
        }
    }
    return r;
}

/* The exponential of a difference of two elements. */
static int32_t nncc_softmax_term(const nncc_softmax_s8_params *p, int32_t diff)
{
    return nncc_softmax_exp(nncc_rq_high_mult((int32_t)((uint32_t)diff << p->shift), p->mult));
}

/* One line of p->axis elements, p->inner apart. */
static void nncc_softmax_line(const nncc_softmax_s8_params *p, const int8_t *x, int8_t *y)
{
    const int32_t span = p->axis * p->inner;
    int32_t max = x[0];
    int32_t sum = 0;
    int32_t room = 0;
    int32_t scale;

    for (int32_t k = 0; k < span; k += p->inner) {
        if (x[k] > max) {
            max = x[k];
        }
    }
    for (int32_t k = 0; k < span; k += p->inner) {
        if (x[k] - max >= p->diff_min) {
            sum += nncc_rq_shift_right(nncc_softmax_term(p, x[k] - max), NNCC_SOFTMAX_SUM_BITS);
        }
    }
    while (room < 31 && /* sum is not 0: the maximum itself counts */
           ((uint32_t)sum & ((uint32_t)0x80000000u >> room)) == 0u) {
        room++;
    }
    scale = nncc_reciprocal((uint32_t)sum << room);
    for (int32_t k = 0; k < span; k += p->inner) {
        int32_t v = -128;

        if (x[k] - max >= p->diff_min) {
            v = nncc_rq_shift_right(nncc_rq_high_mult(scale, nncc_softmax_term(p, x[k] - max)),
                                    NNCC_SOFTMAX_SUM_BITS - room + 23) -
                128;
        }
        y[k] = (int8_t)(v > 127 ? 127 : (v < -128 ? -128 : v));
    }
}

void nncc_softmax_s8(const nncc_softmax_s8_params *p, const int8_t *x, int8_t *y)
{
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            nncc_softmax_line(p, x + i, y + i);
        }
        x += p->axis * p->inner;
        y += p->axis * p->inner;
    }
}
