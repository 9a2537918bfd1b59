/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_helium_softmax.h: what the kernels of softmax share, and rows of them without vectors. */
#include "nncc_helium_core.h"

#include "nncc_bits.h"
#include "nncc_reciprocal.h"
#include "nncc_softmax_exp.h"

/* Fraction bits that the sum of exponentials gives up for range: an exponential of 0 counts 2^19. */
#define NNCC_SOFTMAX_SUM_BITS 12

#if !NNCC_HELIUM_MVE

static inline void nncc_softmax_plain(const nncc_helium_softmax_params *p, const int8_t *x, const int32_t *table,
                                      int8_t *y)
{
    for (int32_t r = p->rows; r > 0; r--) {
        const int32_t *terms;
        uint32_t sum = 0;
        int32_t top = x[0], room, scale;

        for (int32_t i = 1; i < p->size; i++) {
            top = x[i] > top ? x[i] : top;
        }
        terms = table + 255 - top;
        for (int32_t i = 0; i < p->size; i++) {
            sum += (uint32_t)nncc_rq_shift_right(terms[x[i]], NNCC_SOFTMAX_SUM_BITS);
        }
        sum = nncc_softmax_whole(sum);
        room = nncc_leading_zeros(sum);
        scale = nncc_reciprocal(sum << room);
        for (int32_t i = 0; i < p->size; i++) {
            const int32_t v =
                nncc_rq_shift_right(nncc_rq_high_mult(terms[x[i]], scale), NNCC_SOFTMAX_SUM_BITS + 23 - room);

            y[i] = (int8_t)((v > 255 ? 255 : v) - 128);
        }
        x += p->size;
        y += p->size;
    }
}

#endif
