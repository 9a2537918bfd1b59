/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_batch_matmul_columns.h: nncc_helium_batch_matmul_s8 to fewer than four columns, value by value.
 */
#ifndef NNCC_HELIUM_BATCH_MATMUL_COLUMNS_H
#define NNCC_HELIUM_BATCH_MATMUL_COLUMNS_H

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
    for (int32_t r = p->m; r > 0; r--) {
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

#endif

#endif
