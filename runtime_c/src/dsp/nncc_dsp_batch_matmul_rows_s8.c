/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_batch_matmul_rows_s8: few rows by the right matrix where it lies, four columns at a time. */
#include "nncc_dsp_core.h"

#if defined(__GNUC__) && !defined(__clang__)
#define NNCC_SHORT_LOOP _Pragma("GCC unroll 1")
#else
#define NNCC_SHORT_LOOP
#endif

/* An output: its sum, scaled as kernels with packed weights do it. */
static int8_t nncc_bmm_output(const nncc_dsp_batch_matmul_params *p, int32_t sum)
{
#if NNCC_THUMB1
    const int32_t v = nncc_plain_scale(2 * sum, &p->scale);
#else
    const int32_t v = nncc_dsp_scale(2 * sum, &p->scale, 1);
#endif

    return nncc_dsp_clamp(v, p->low, p->cap);
}

/* What the right matrix's zero point adds to the sums of a row. */
static int32_t nncc_bmm_common(const nncc_dsp_batch_matmul_params *p, const int8_t *x)
{
    int32_t sum = 0;

    if (p->b_zero == 0) {
        return 0;
    }
    for (int32_t k = p->k; k > 0; k--) {
        sum += *x;
        x += k > 1 ? p->a_k : 0;
    }
    return p->b_zero * (p->k * p->a_zero - sum);
}

/* Adds the products of one, two or four columns of weights: sums of others are as they were. */
#define NNCC_BMM_EVERY_INPUT(add) \
    do { \
        const int32_t zero = p->a_zero, right = p->a_k, down = p->b_k; \
\
        NNCC_SHORT_LOOP \
        for (int32_t k = p->k; k > 1; k--) { \
            add(*x - zero); \
            x += right; \
            w += down; \
        } \
        add(*x - zero); \
    } while (0)
#define NNCC_BMM_ONE(input) (a += (input) * *w)
#define NNCC_BMM_TWO(input) \
    do { \
        const int32_t v = input; \
\
        a += v * w[0]; \
        b += v * w[next]; \
    } while (0)
#define NNCC_BMM_FOUR(input) \
    do { \
        const int32_t v = input; \
\
        a += v * w[0]; \
        b += v * w[next]; \
        c += v * w[2 * next]; \
        d += v * w[third]; \
    } while (0)

NNCC_APART static void nncc_bmm_one(const nncc_dsp_batch_matmul_params *p, const int8_t *x, const int8_t *w,
                                    int32_t sums[4])
{
    int32_t a = sums[0];

    NNCC_BMM_EVERY_INPUT(NNCC_BMM_ONE);
    sums[0] = a;
}

NNCC_APART static void nncc_bmm_two(const nncc_dsp_batch_matmul_params *p, const int8_t *x, const int8_t *w,
                                    int32_t sums[4])
{
    const int32_t next = p->b_n;
    int32_t a = sums[0], b = sums[1];

    NNCC_BMM_EVERY_INPUT(NNCC_BMM_TWO);
    sums[0] = a;
    sums[1] = b;
}

NNCC_APART static void nncc_bmm_four(const nncc_dsp_batch_matmul_params *p, const int8_t *x, const int8_t *w,
                                     int32_t sums[4])
{
    const int32_t next = p->b_n, third = 3 * next;
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];

    NNCC_BMM_EVERY_INPUT(NNCC_BMM_FOUR);
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

static void nncc_bmm_row(const nncc_dsp_batch_matmul_params *p, const int8_t *x, const int8_t *w, int8_t *y)
{
    const int32_t common = nncc_bmm_common(p, x);
    int32_t count = 4;

    for (int32_t left = p->n; left > 0; left -= count) {
        int32_t sums[4] = {common, common, common, common};

        if (left > 3) {
            nncc_bmm_four(p, x, w, sums);
        } else if (left > 1) {
            count = 2;
            nncc_bmm_two(p, x, w, sums);
        } else {
            count = 1;
            nncc_bmm_one(p, x, w, sums);
        }
        w += left > count ? count * p->b_n : 0;
        NNCC_SHORT_LOOP
        for (int32_t c = 0; c < count; c++) {
            *y++ = nncc_bmm_output(p, sums[c]);
        }
    }
}

static void nncc_bmm_product(const nncc_dsp_batch_matmul_params *p, const int8_t *a, const int8_t *b, int8_t *y)
{
    for (int32_t r = 0; r < p->m; r++) {
        nncc_bmm_row(p, a + r * p->a_m, b, y + r * p->y_m);
    }
}

void nncc_dsp_batch_matmul_rows_s8(const nncc_dsp_batch_matmul_params *p, const int8_t *a, const int8_t *b, int8_t *y)
{
    for (int32_t i = 0; i < p->batch[0]; i++) {
        for (int32_t j = 0; j < p->batch[1]; j++) {
            NNCC_SHORT_LOOP
            for (int32_t l = 0; l < p->batch[2]; l++) {
                nncc_bmm_product(p, a + i * p->a_batch[0] + j * p->a_batch[1] + l * p->a_batch[2],
                                 b + i * p->b_batch[0] + j * p->b_batch[1] + l * p->b_batch[2],
                                 y + i * p->y_batch[0] + j * p->y_batch[1] + l * p->y_batch[2]);
            }
        }
    }
}
