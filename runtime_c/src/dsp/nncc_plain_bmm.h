/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_plain_bmm.h: a right matrix as bytes, four columns a word, for cores without the DSP extension. With its zero
 * point z a product is the sum of a * b, less z times the sum of a: the sum of a row of the left matrix is two more
 * inputs, with the two halves of -z for weights.
 */
#include "nncc_dsp_core.h"

/* Inputs of a row of k. */
static inline int32_t nncc_plain_bmm_pairs(int32_t k)
{
    return k + 2;
}

/* Words of four columns. */
static inline int32_t nncc_plain_bmm_words(int32_t pairs)
{
    return 16 + pairs;
}

/* The right matrix as packed weights of so many inputs. */
static inline void nncc_plain_bmm_right(const nncc_dsp_batch_matmul_params *p, int32_t pairs, const int8_t *b,
                                        int32_t *w)
{
    const int32_t half = -p->b_zero >> 1, fixed = p->k * p->a_zero * p->b_zero;

    for (int32_t first = 0; first < p->n; first += first == 0 && (p->n & 3) != 0 ? p->n & 3 : 4) {
        for (int32_t c = 0; c < 4; c++) {
            const int32_t real = first + c < p->n ? 1 : 0;
            const int8_t *x = b + (first + c * real) * p->b_n;
            int8_t *const to = (int8_t *)(void *)(w + 4) + c;
            int32_t *const scale = w + 4 + pairs + 3 * c;
            int32_t sum = 0;

            for (int32_t k = 0; k < p->k; k++) {
                to[4 * k] = *x;
                sum += *x;
                x += k + 1 < p->k ? p->b_k : 0;
            }
            to[4 * p->k] = (int8_t)half;
            to[4 * p->k + 4] = (int8_t)(-p->b_zero - half);
            w[c] = fixed - p->a_zero * sum;
            scale[0] = p->scale;
            scale[1] = p->offset;
            scale[2] = p->shift;
        }
        w += nncc_plain_bmm_words(pairs);
    }
}
