/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_pair_sum_s16: eight elements in 29 instructions with Helium, 17 an element with SMMLAR. */
#include "nncc_wide.h"

#if NNCC_WIDE_MVE

static inline int32x4_t nncc_sum_four(const nncc_pair_sum_s16_params *p, int32x4_t u, int32x4_t v)
{
    v = nncc_wide_down4(nncc_wide_high4(v, p->mult), p->shift);
    return nncc_wide_down4(nncc_wide_high4(vmlaq_n_s32(u, v, p->sign), p->out_mult), p->out_shift);
}

static inline int32x4_t nncc_sum_equal_four(const nncc_pair_sum_s16_params *p, int32x4_t u)
{
    return nncc_wide_down4(nncc_wide_high4(u, p->out_mult), p->out_shift);
}

static inline int16x8_t nncc_sum_eight(const nncc_pair_sum_s16_params *p, int16x8_t u, int16x8_t v)
{
    const int16x8_t unit = vdupq_n_s16((int16_t)p->unit);

    return nncc_wide_clamp8(nncc_wide_join(nncc_sum_four(p, vmullbq_int_s16(u, unit), vshllbq_n_s16(v, 15)),
                                           nncc_sum_four(p, vmulltq_int_s16(u, unit), vshlltq_n_s16(v, 15))),
                            p->act_min, p->act_max);
}

/* Of equal scales. */
static inline int16x8_t nncc_sum_equal_eight(const nncc_pair_sum_s16_params *p, int16x8_t u, int16x8_t v)
{
    const int16x8_t first = vdupq_n_s16((int16_t)p->unit), second = vdupq_n_s16((int16_t)(p->sign * 16384));
    const int32x4_t even = vaddq_s32(vmullbq_int_s16(u, first), vmullbq_int_s16(v, second));
    const int32x4_t odd = vaddq_s32(vmulltq_int_s16(u, first), vmulltq_int_s16(v, second));

    return nncc_wide_clamp8(nncc_wide_join(nncc_sum_equal_four(p, even), nncc_sum_equal_four(p, odd)), p->act_min,
                            p->act_max);
}

#endif

void nncc_pair_sum_s16(const void *form, const int16_t *a, const int16_t *b, int16_t *y, int32_t n)
{
#if NNCC_WIDE_MVE
    const nncc_pair_sum_s16_params q = *(const nncc_pair_sum_s16_params *)form;

    if (q.shift == 0) {
        NNCC_WIDE_VECTORS(nncc_sum_equal_eight(&q, u, v));
    } else {
        NNCC_WIDE_VECTORS(nncc_sum_eight(&q, u, v));
    }
#else
    /* Products have the sign of their value, or are 0: it says where ties go. */
    const nncc_pair_sum_s16_params *const p = (const nncc_pair_sum_s16_params *)form;
    const int32_t unit = p->unit, sign = p->sign, mult = p->mult, shift = p->shift;
    const int32_t last = p->out_mult, down = p->out_shift;
    NNCC_WIDE_ADDEND half = (int32_t)((uint32_t)1 << (down - 1));
    const int32_t lo = p->act_min, hi = p->act_max;
    int32_t t;

    if (shift == 0) {
        const int32_t other = 16384 * sign;

        NNCC_WIDE_SHORT((t = u * unit + v * other, (nncc_wide_double_high(t, last, half) + (t >> 31)) >> down),
                        NNCC_WIDE_LIMIT(r, lo, hi));
    } else {
        NNCC_WIDE_ADDEND first = (int32_t)((uint32_t)1 << (shift - 1));

        NNCC_WIDE_LOOP(lo, hi,
                       (t = (nncc_wide_high(NNCC_WIDE_LEFT(v, 16), mult, first) + (v >> 31)) >> shift,
                        t = u * unit + t * sign, (nncc_wide_double_high(t, last, half) + (t >> 31)) >> down));
    }
#endif
}
