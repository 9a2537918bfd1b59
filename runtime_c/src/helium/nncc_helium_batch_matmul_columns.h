/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_batch_matmul_columns.h: nncc_helium_batch_matmul_s8 to fewer than four columns, value by value, and of
 * a single row, which is a column of the product turned round.
 */
#include "nncc_helium_batch_matmul_line.h"

#if NNCC_HELIUM_MVE
#include <arm_mve.h>

/* The product of n bytes, and `less` times the sum of a's; b ends with zeros where n is no number of vectors. */
static inline int32_t nncc_bmm_dot(const int8_t *a, const int8_t *b, int32_t n, int32_t less)
{
    int32_t s = 0, t = 0;

    for (; n >= NNCC_HELIUM_BYTES; n -= NNCC_HELIUM_BYTES) {
        const int8x16_t v = vldrbq_s8(a);

        s = vmladavaq_s8(s, v, vldrbq_s8(b));
        t = vaddvaq_s8(t, v);
        a += NNCC_HELIUM_BYTES;
        b += NNCC_HELIUM_BYTES;
    }
    if (n > 0) {
        const int8x16_t v = vldrbq_z_s8(a, vctp8q((uint32_t)n));

        s = vmladavaq_s8(s, v, vldrbq_s8(b));
        t = vaddvaq_s8(t, v);
    }
    return s - less * t;
}

/* The products of two lines with the same b, and `less` times their sums: sums. */
static inline void nncc_bmm_dots(const int8_t *a, int32_t step, const int8_t *b, int32_t n, int32_t less, int32_t *sums)
{
    const int8_t *more = a + step;
    int32_t s = sums[0], t = 0, u = sums[1], v = 0;

    for (; n >= NNCC_HELIUM_BYTES; n -= NNCC_HELIUM_BYTES) {
        const int8x16_t w = vldrbq_s8(b), x = vldrbq_s8(a), y = vldrbq_s8(more);

        s = vmladavaq_s8(s, x, w);
        t = vaddvaq_s8(t, x);
        u = vmladavaq_s8(u, y, w);
        v = vaddvaq_s8(v, y);
        a += NNCC_HELIUM_BYTES;
        more += NNCC_HELIUM_BYTES;
        b += NNCC_HELIUM_BYTES;
    }
    if (n > 0) {
        const mve_pred16_t part = vctp8q((uint32_t)n);
        const int8x16_t w = vldrbq_s8(b), x = vldrbq_z_s8(a, part), y = vldrbq_z_s8(more, part);

        s = vmladavaq_s8(s, x, w);
        t = vaddvaq_s8(t, x);
        u = vmladavaq_s8(u, y, w);
        v = vaddvaq_s8(v, y);
    }
    sums[0] = s - less * t;
    sums[1] = u - less * v;
}

/* Up to four results. */
static inline void nncc_bmm_results(const nncc_helium_batch_matmul_params *p, const int32_t *sums, int32_t n, int8_t *y)
{
    int32x4_t r = vqrdmulhq_n_s32(vldrwq_s32(sums), p->mult);

    r = vrshlq_n_s32(vaddq_s32(r, vshrq_n_s32(r, 31)), p->shift); /* ties away from zero */
    r = vminq_s32(vmaxq_s32(vaddq_n_s32(r, p->zero), vdupq_n_s32(p->act_min)), vdupq_n_s32(p->act_max));
    vstrbq_p_s32(y, r, vctp32q((uint32_t)n));
}

/* Fewer than four columns, whose results lie side by side: a result at a time, from rows as they are. */
static void nncc_bmm_columns(const nncc_helium_batch_matmul_params *p, const int8_t *a, const int8_t *b, int8_t *copy,
                             int8_t *y)
{
    const int32_t width = (p->k + NNCC_HELIUM_BYTES - 1) & ~(NNCC_HELIUM_BYTES - 1);
    int32_t fixed[3], sums[4] = {0, 0, 0, 0};
    int32_t have = 0;

    for (int32_t c = 0; c < p->n; c++) {
        fixed[c] = p->a_zero * (p->k * p->b_zero -
                                nncc_bmm_line(b + c * p->b_n, p->k, p->b_k, copy + c * width, NNCC_HELIUM_BYTES));
    }
    int32_t r = p->m;

    for (; p->n == 1 && r >= 4; r -= 4) {
        sums[0] = sums[1] = sums[2] = sums[3] = fixed[0];
        nncc_bmm_dots(a, p->a_m, copy, p->k, p->b_zero, sums);
        nncc_bmm_dots(a + 2 * p->a_m, p->a_m, copy, p->k, p->b_zero, sums + 2);
        nncc_bmm_results(p, sums, 4, y);
        a += 4 * p->a_m;
        y += 4;
    }
    for (; r > 0; r--) {
        for (int32_t c = 0; c < p->n; c++) {
            sums[have] = fixed[c] + nncc_bmm_dot(a, copy + c * width, p->k, p->b_zero);
            if (++have == 4) {
                nncc_bmm_results(p, sums, have, y);
                y += have;
                have = 0;
            }
        }
        a += p->a_m;
    }
    if (have > 0) {
        nncc_bmm_results(p, sums, have, y);
    }
}

/* A single row: the column of the product turned round, of rows of b as they are. */
static void nncc_bmm_turned(const nncc_helium_batch_matmul_params *p, const int8_t *a, const int8_t *b, int8_t *copy,
                            int8_t *y)
{
    nncc_helium_batch_matmul_params q = *p;

    q.m = p->n;
    q.n = 1;
    q.a_m = p->b_n;
    q.b_k = p->a_k;
    q.a_zero = p->b_zero;
    q.b_zero = p->a_zero;
    nncc_bmm_columns(&q, b, a, copy, y);
}

#endif
