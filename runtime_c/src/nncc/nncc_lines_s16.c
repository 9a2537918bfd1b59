/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_lines_s16: eight elements in 26 instructions with Helium, in 15 where there is one line. */
#include "nncc_wide.h"

#if NNCC_WIDE_MVE

static inline int32x4_t nncc_lines_four(const nncc_lines_s16_params *p, int32x4_t q)
{
    const mve_pred16_t side = vcmpgeq_n_s32(q, p->split);
    const int32x4_t mult = vpselq_s32(vdupq_n_s32(p->pos_mult), vdupq_n_s32(p->neg_mult), side);
    const int32x4_t low = vpselq_s32(vdupq_n_s32(p->pos_low), vdupq_n_s32(p->neg_low), side);
    const int32x4_t bias = vpselq_s32(vdupq_n_s32(p->pos_bias), vdupq_n_s32(p->neg_bias), side);

    return vshlq_r_s32(vaddq_s32(vaddq_s32(vmulq_s32(q, mult), vqdmulhq_s32(q, low)), bias), -p->shift);
}

static inline int32x4_t nncc_line_four(const nncc_lines_s16_params *p, int32x4_t q)
{
    const int32x4_t v = vmlaq_n_s32(vqdmulhq_n_s32(q, p->pos_low), q, p->pos_mult);

    return vshlq_r_s32(vaddq_n_s32(v, p->pos_bias), -p->shift);
}

#else

static inline int32_t nncc_line_one(int32_t q, int32_t mult, int32_t low, int32_t bias)
{
    return nncc_wide_floor(2 * q, low, bias) + q * mult;
}

/* One line or the other, by a branch. */
static inline int32_t nncc_line_of(const nncc_lines_s16_params *p, int32_t q)
{
    if (q >= p->split) {
        return nncc_line_one(q, p->pos_mult, p->pos_low, p->pos_bias);
    }
    return nncc_line_one(q, p->neg_mult, p->neg_low, p->neg_bias);
}

#endif

void nncc_lines_s16(const nncc_lines_s16_params *form, const int16_t *x, int16_t *y)
{
    const nncc_lines_s16_params p = *form;
    const int32_t lo = p.act_min, hi = p.act_max;
    const int16_t *a = x;
    int32_t n = p.count;
    const int32_t one = p.pos_mult == p.neg_mult && p.pos_low == p.neg_low && p.pos_bias == p.neg_bias;

#if NNCC_WIDE_MVE
    if (one != 0) {
        NNCC_WIDE_MAP_VECTORS(nncc_wide_clamp8(
            nncc_wide_join(nncc_line_four(&p, vmovlbq_s16(u)), nncc_line_four(&p, vmovltq_s16(u))), lo, hi));
        return;
    }
    NNCC_WIDE_MAP_VECTORS(nncc_wide_clamp8(
        nncc_wide_join(nncc_lines_four(&p, vmovlbq_s16(u)), nncc_lines_four(&p, vmovltq_s16(u))), lo, hi));
#else
    if (one != 0) {
        NNCC_WIDE_MAP(lo, hi, nncc_line_one(u, p.pos_mult, p.pos_low, p.pos_bias) >> p.shift);
        return;
    }
    NNCC_WIDE_MAP(lo, hi, nncc_line_of(&p, u) >> p.shift);
#endif
}
