/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_pair_mul_s16: eight elements in 17 instructions with Helium, 11 an element with SMMLAR. */
#include "nncc_wide.h"

#if NNCC_WIDE_MVE

static inline int16x8_t nncc_mul_eight(const nncc_pair_mul_s16_params *p, int16x8_t u, int16x8_t v)
{
    const int32x4_t even = nncc_wide_down4(nncc_wide_high4(vmullbq_int_s16(u, v), p->mult), p->shift);
    const int32x4_t odd = nncc_wide_down4(nncc_wide_high4(vmulltq_int_s16(u, v), p->mult), p->shift);

    return nncc_wide_clamp8(nncc_wide_join(even, odd), p->act_min, p->act_max);
}

#endif

void nncc_pair_mul_s16(const void *form, const int16_t *a, const int16_t *b, int16_t *y, int32_t n)
{
#if NNCC_WIDE_MVE
    const nncc_pair_mul_s16_params q = *(const nncc_pair_mul_s16_params *)form;

    NNCC_WIDE_VECTORS(nncc_mul_eight(&q, u, v));
#else
    const nncc_pair_mul_s16_params *const p = (const nncc_pair_mul_s16_params *)form;
    const int32_t mult = p->mult, shift = p->shift;
    NNCC_WIDE_ADDEND half = (int32_t)((uint32_t)1 << (shift - 1));
    const int32_t lo = p->act_min, hi = p->act_max;
    int32_t t;

    NNCC_WIDE_LOOP(lo, hi, (t = u * v, (nncc_wide_double_high(t, mult, half) + (t >> 31)) >> shift));
#endif
}
