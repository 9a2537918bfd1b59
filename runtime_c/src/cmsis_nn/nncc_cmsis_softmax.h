/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* What the softmax kernels of int8 share; the arithmetic is gemmlowp's, as CMSIS-NN uses it. */
#include "nncc_cmsis.h"
#include "nncc_bits.h"
#include "nncc_reciprocal.h"
#include "nncc_softmax_exp.h"

/* Bits that make room for the sum of exponentials: terms are Q12.19. */
#define NNCC_SOFTMAX_ACCUM_BITS 12

/* What the library makes of a sum of 2^31 and more: 4096 largest elements in a row. */
#define NNCC_SOFTMAX_OVERFLOW_SCALE (-1515870788)

/* exp of (difference << shift) scaled by mult. */
static inline int32_t nncc_softmax_term(int32_t diff, int32_t mult, int32_t shift)
{
    return nncc_softmax_exp(nncc_apart_mult((int32_t)((uint32_t)diff << shift), mult));
}

/* Largest element, and scale and shift that turn a term into a share of 1. */
static inline int32_t nncc_softmax_row(const int8_t *in, int32_t size, int32_t mult, int32_t shift, int32_t diff_min,
                                       int32_t *scale, int32_t *headroom)
{
    int32_t top = in[0];
    uint32_t sum = 0;

    for (int32_t i = 1; i < size; i++) {
        top = nncc_max(top, in[i]);
    }
    for (int32_t i = 0; i < size; i++) {
        if (in[i] - top >= diff_min) {
            sum += (uint32_t)nncc_div_pow2(nncc_softmax_term(in[i] - top, mult, shift), NNCC_SOFTMAX_ACCUM_BITS);
        }
    }
    *headroom = nncc_leading_zeros(sum);
    *scale = (int32_t)sum > 0 ? nncc_reciprocal(sum << *headroom) : NNCC_SOFTMAX_OVERFLOW_SCALE;
    return top;
}
