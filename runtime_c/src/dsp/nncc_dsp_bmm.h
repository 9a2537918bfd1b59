/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_bmm.h: a right matrix as wide weights, its zero point taken off. */
#include "nncc_dsp_core.h"

/* Pairs of k inputs of a row. */
static inline int32_t nncc_dsp_bmm_pairs(int32_t k)
{
    return (k + 1) / 2;
}

/* Words of four columns. */
static inline int32_t nncc_dsp_bmm_words(int32_t pairs)
{
    return 16 + 4 * pairs;
}

/* Doubles the values of a column, less the zero point, into its halves of the words of each pair: their sum. */
static inline int32_t nncc_dsp_bmm_column(const int8_t *x, int32_t n, int32_t stride, int32_t zero, int32_t *words)
{
    /* Where the next four inputs go: 0 and 2 are a pair, 1 and 3; of three, too; two are one. */
    int16_t *to = (int16_t *)(void *)words;
    int32_t sum = 0;

    for (; n >= 4; n -= 4) {
        const int32_t v0 = 2 * (x[0] - zero), v1 = 2 * (x[stride] - zero);
        const int32_t v2 = 2 * (x[2 * stride] - zero), v3 = 2 * (x[3 * stride] - zero);

        to[0] = (int16_t)v0;
        to[1] = (int16_t)v2;
        to[8] = (int16_t)v1;
        to[9] = (int16_t)v3;
        sum += v0 + v1 + v2 + v3;
        x += n > 4 ? 4 * stride : 0;
        to += 16;
    }
    if (n > 0) {
        const int32_t v0 = 2 * (x[0] - zero), v1 = n > 1 ? 2 * (x[stride] - zero) : 0;
        const int32_t v2 = n > 2 ? 2 * (x[2 * stride] - zero) : 0;

        to[0] = (int16_t)v0;
        to[1] = (int16_t)(n == 2 ? v1 : v2);
        if (n == 3) {
            to[8] = (int16_t)v1;
            to[9] = 0;
        }
        sum += v0 + v1 + v2;
    }
    return sum;
}

/* The right matrix as packed weights. */
static inline void nncc_dsp_bmm_right(const nncc_dsp_batch_matmul_params *p, int32_t pairs, const int8_t *b, int32_t *w)
{
    for (int32_t first = 0; first < p->n; first += first == 0 && (p->n & 3) != 0 ? p->n & 3 : 4) {
        for (int32_t c = 0; c < 4; c++) {
            int32_t *const scale = w + 4 + 4 * pairs + 3 * c;

            w[c] = 0;
            if (first + c < p->n) {
                w[c] = -p->a_zero * nncc_dsp_bmm_column(b + (first + c) * p->b_n, p->k, p->b_k, p->b_zero, w + 4 + c);
            } else {
                for (int32_t k = 0; k < pairs; k++) {
                    w[4 + 4 * k + c] = 0;
                }
            }
            scale[0] = p->scale;
            scale[1] = p->offset;
            scale[2] = p->shift;
        }
        w += 16 + 4 * pairs;
    }
}
