/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_batch_matmul_rows_s8: few rows by the right matrix where it lies, four columns at a time. */
#include "nncc_dsp_core.h"
#include "nncc_simd32.h"

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

#if NNCC_SIMD32

/* Four columns by fours of inputs: add makes their products with the words at w, which lie step apart. */
#define NNCC_BMM_FOURS(step, add) \
    do { \
        const uint32_t zero = nncc_pack_low((uint32_t)-p->a_zero, (uint32_t)-p->a_zero); \
        const int32_t next = step; \
        int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3]; \
\
        NNCC_SHORT_LOOP \
        for (const int8_t *const end = x + p->k; x < end; x += 4) { \
            const uint32_t four = nncc_load_word(x); \
            const uint32_t even = nncc_add_even(zero, four), odd = nncc_add_odd(zero, four); \
\
            add; \
        } \
        sums[0] = a; \
        sums[1] = b; \
        sums[2] = c; \
        sums[3] = d; \
    } while (0)
#define NNCC_BMM_DUAL(sum, w_even, w_odd) (sum = nncc_dual_add(nncc_dual_add(sum, even, w_even), odd, w_odd))

/* The inputs of a column lie side by side. */
#define NNCC_BMM_COLUMN(sum, at) \
    do { \
        const uint32_t word = nncc_load_word(at); \
\
        NNCC_BMM_DUAL(sum, nncc_even_bytes(word), nncc_odd_bytes(word)); \
    } while (0)
#define NNCC_BMM_COLUMNS \
    do { \
        NNCC_BMM_COLUMN(a, w); \
        NNCC_BMM_COLUMN(b, w + next); \
        NNCC_BMM_COLUMN(c, w + 2 * next); \
        NNCC_BMM_COLUMN(d, w + third); \
        w += 4; \
    } while (0)

/* The columns lie side by side: two inputs by four columns of the words w and two rows below. */
#define NNCC_BMM_ROWS(inputs, down) \
    do { \
        const uint32_t top = nncc_load_word(w), bottom = nncc_load_word(w + two); \
        const uint32_t low = nncc_pack_low(top, bottom), high = nncc_pack_high(top, bottom); \
\
        w += down; \
        a = nncc_dual_add(a, inputs, nncc_even_bytes(low)); \
        b = nncc_dual_add(b, inputs, nncc_odd_bytes(low)); \
        c = nncc_dual_add(c, inputs, nncc_even_bytes(high)); \
        d = nncc_dual_add(d, inputs, nncc_odd_bytes(high)); \
    } while (0)

NNCC_APART NNCC_DSP_IN_ORDER static void nncc_bmm_columns(const nncc_dsp_batch_matmul_params *p, const int8_t *x,
                                                          const int8_t *w, int32_t sums[4])
{
    const int32_t third = 3 * p->b_n;

    NNCC_BMM_FOURS(p->b_n, NNCC_BMM_COLUMNS);
}

NNCC_APART NNCC_DSP_IN_ORDER static void nncc_bmm_rows(const nncc_dsp_batch_matmul_params *p, const int8_t *x,
                                                       const int8_t *w, int32_t sums[4])
{
    const int32_t two = 2 * p->b_k;

    NNCC_BMM_FOURS(p->b_k, NNCC_BMM_ROWS(even, next); NNCC_BMM_ROWS(odd, next + two));
}

#endif

static void nncc_bmm_row(const nncc_dsp_batch_matmul_params *p, const int8_t *x, const int8_t *w, int8_t *y)
{
    const int32_t common = nncc_bmm_common(p, x);
    int32_t count = 4;

    for (int32_t left = p->n; left > 0; left -= count) {
        int32_t sums[4] = {common, common, common, common};

        if (left > 3) {
#if NNCC_SIMD32
            const int32_t fours = p->a_k == 1 && (p->k & 3) == 0;

            if (fours && p->b_k == 1) {
                nncc_bmm_columns(p, x, w, sums);
            } else if (fours && p->b_n == 1) {
                nncc_bmm_rows(p, x, w, sums);
            } else
#endif
            {
                nncc_bmm_four(p, x, w, sums);
            }
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
