/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_bits.h"
#include "nncc_reciprocal.h"
#include "nncc_s8.h"
#include "nncc_softmax_exp.h"

/* Fraction bits that the sum of exponentials gives up for range. */
#define NNCC_SOFTMAX_SUM_BITS 12

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
    uint32_t sum = 0;
    int32_t room, scale;

    for (int32_t k = 0; k < span; k += p->inner) {
        if (x[k] > max) {
            max = x[k];
        }
    }
    for (int32_t k = 0; k < span; k += p->inner) {
        if (x[k] - max >= p->diff_min) {
            sum += (uint32_t)nncc_rq_shift_right(nncc_softmax_term(p, x[k] - max), NNCC_SOFTMAX_SUM_BITS);
        }
    }
    room = nncc_leading_zeros(nncc_softmax_whole(sum));
    scale = nncc_reciprocal(nncc_softmax_whole(sum) << room);
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
