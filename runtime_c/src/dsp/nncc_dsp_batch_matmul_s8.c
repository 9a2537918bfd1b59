/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_batch_matmul_s8: a right matrix is packed as wide weights, its zero point taken off, its rows and columns in
 * whichever order; then the product is a fully connected layer. About 7 instructions a byte to pack.
 */
#include "nncc_dsp_core.h"

/* Doubles the values of a column, less the zero point, into its halves of the words of each pair: their sum. */
static int32_t nncc_dsp_bmm_column(const int8_t *x, int32_t n, int32_t stride, int32_t zero, int32_t *words)
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
static void nncc_dsp_bmm_right(const nncc_dsp_batch_matmul_params *p, int32_t pairs, const int8_t *b, int32_t *w)
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

/* The left matrix with neighbours in its rows. */
static void nncc_dsp_bmm_left(const nncc_dsp_batch_matmul_params *p, const int8_t *a, int8_t *copy)
{
    for (int32_t r = 0; r < p->m; r++) {
        for (int32_t k = 0; k < p->k; k++) {
            *copy++ = a[r * p->a_m + k * p->a_k];
        }
    }
}

void nncc_dsp_batch_matmul_s8(const nncc_dsp_batch_matmul_params *p, const int8_t *a, const int8_t *b, int32_t *scratch,
                              int8_t *y)
{
    const int32_t pairs = (p->k + 1) / 2;
    int32_t *const weights = scratch + 2 * pairs;
    int8_t *const copy = (int8_t *)(weights + (p->n + 3) / 4 * (16 + 4 * pairs));
    const int8_t *left = NULL, *right = NULL, *rows = NULL;
    nncc_dsp_fully_connected_params f = {0};

    f.rows = p->m;
    f.in_c = p->k;
    f.out_c = p->n;
    f.in_pitch = p->a_k == 1 ? p->a_m : p->k;
    f.out_pitch = p->y_m;
    f.pairs = pairs;
    f.group_words = 16 + 4 * pairs;
    f.positive = p->positive;
    f.low = p->low;
    f.cap = p->cap;
    for (int32_t i = 0; i < p->batch[0]; i++) {
        for (int32_t j = 0; j < p->batch[1]; j++) {
            for (int32_t l = 0; l < p->batch[2]; l++) {
                const int8_t *const at = a + i * p->a_batch[0] + j * p->a_batch[1] + l * p->a_batch[2];
                const int8_t *const bt = b + i * p->b_batch[0] + j * p->b_batch[1] + l * p->b_batch[2];

                if (at != left) {
                    left = at;
                    rows = at;
                    if (p->a_k != 1) {
                        nncc_dsp_bmm_left(p, at, copy);
                        rows = copy;
                    }
                }
                if (bt != right) {
                    right = bt;
                    nncc_dsp_bmm_right(p, pairs, bt, weights);
                }
                nncc_dsp_convolve_1x1_s8(&f, nncc_dsp_widen_2rows_s8, nncc_dsp_matmul_2rows_w16_s8, rows, weights,
                                         y + i * p->y_batch[0] + j * p->y_batch[1] + l * p->y_batch[2], scratch);
            }
        }
    }
}
