/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_resize_linear_few_wide_s8: the elements of a row of results one after the other, whatever pixel they are of:
 * four in 14 instructions with Helium.
 */
#include "nncc_isa.h"
#include "nncc_mve.h"
#include "nncc_pair.h"
#include "nncc_resize_blend32.h"
#include "nncc_resize_linear.h"

typedef int32_t nncc_resize_few_wide_value;
typedef int32_t nncc_resize_few_wide_round;

static inline nncc_resize_few_wide_round nncc_resize_few_wide_rounding(const nncc_resize_linear_s8_params *p,
                                                                       const int8_t *x, const int8_t *y)
{
    (void)x;
    (void)y;
    return p->shift;
}

static inline void nncc_resize_few_wide_blend(const nncc_resize_linear_s8_params *p,
                                              const nncc_resize_few_wide_round *r, const int8_t *a, const int8_t *b,
                                              int32_t wa, int32_t wb, nncc_resize_few_wide_value *row)
{
    (void)r;
    nncc_resize_blend32(p, a, b, wa, wb, row);
}

#if NNCC_PAIR_MVE

static NNCC_RESIZE_APART void nncc_resize_few_wide_columns(const nncc_resize_linear_s8_params *p,
                                                           const nncc_resize_few_wide_round *r,
                                                           const nncc_resize_few_wide_value *row, const int16_t *at,
                                                           int8_t *y)
{
    const int32_t n = p->out_w * p->channels;
    const int16_t *weight = at + n;

    __asm volatile("ldr lr, [%[mult]]\n\t"
                   "vdup.32 q1, lr\n\t"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrh.u32 q0, [%[at]], #8\n\t"
                   "vldrw.u32 q2, [%[row], q0, uxtw #2]\n\t"
                   "vldrw.u32 q3, [%[next], q0, uxtw #2]\n\t"
                   "vldrh.s32 q0, [%[weight]], #8\n\t"
                   "vsub.i32 q2, q2, q3\n\t"
                   "vmul.i32 q2, q2, q0\n\t"
                   "vmla.s32 q2, q3, %[den]\n\t"
                   "vmulh.s32 q2, q2, q1\n\t"
                   "vadd.i32 q2, q2, %[add]\n\t"
                   "vshl.s32 q2, %[shift]\n\t"
                   "vqmovnb.s32 q2, q2\n\t"
                   "vqmovnb.s16 q2, q2\n\t"
                   "vstrb.32 q2, [%[y]], #4\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [at] "+l"(at), [weight] "+l"(weight), [y] "+l"(y)
                   : [n] "r"(n), [row] "r"(row), [next] "r"(row + p->channels), [den] "r"(p->den), [mult] "r"(&p->mult),
                     [add] "r"(p->add), [shift] "r"(-*r)
                   : "lr", "q0", "q1", "q2", "q3", "cc", "memory");
}

#elif NNCC_MVE_C

#define NNCC_RESIZE_FEW_WIDE(what, y) \
    do { \
        const uint32x4_t i = vreinterpretq_u32_s32(NNCC_GETHW##what(at)); \
        const int32x4_t b = NNCC_GATHERW##what(next, i); \
        const int32x4_t d = vsubq_s32(NNCC_GATHERW##what(row, i), b); \
        const int32x4_t s = vmlaq_n_s32(vmulq_s32(d, NNCC_GETHW##what(weight)), b, den); \
\
        NNCC_PUT4##what(y, nncc_limit4(vshlq_r_s32(vaddq_s32(vmulhq_s32(s, mult), add), up), lo, hi)); \
        at += 4; \
        weight += 4; \
        y += 4; \
    } while (0)

static NNCC_RESIZE_APART void nncc_resize_few_wide_columns(const nncc_resize_linear_s8_params *p,
                                                           const nncc_resize_few_wide_round *r,
                                                           const nncc_resize_few_wide_value *row, const int16_t *at,
                                                           int8_t *y)
{
    int32_t n = p->out_w * p->channels;
    const int16_t *weight = at + n;
    const nncc_resize_few_wide_value *const next = row + p->channels;
    const int32x4_t mult = vdupq_n_s32(p->mult), add = vdupq_n_s32(p->add);
    const int32x4_t lo = vdupq_n_s32(-128), hi = vdupq_n_s32(127);
    const int32_t den = p->den, up = -*r;

    NNCC_RESIZE_VECTORS(n, 4, vctp32q, NNCC_RESIZE_FEW_WIDE);
}

#else

static NNCC_RESIZE_APART void nncc_resize_few_wide_columns(const nncc_resize_linear_s8_params *p,
                                                           const nncc_resize_few_wide_round *r,
                                                           const nncc_resize_few_wide_value *row, const int16_t *at,
                                                           int8_t *y)
{
    int32_t n = p->out_w * p->channels;
    const int16_t *weight = at + n;
    const nncc_resize_few_wide_value *const next = row + p->channels;
    const int32_t den = p->den, mult = p->mult, add = p->add, shift = *r;

    for (; n > 0; n--) {
        const int32_t i = *at++, b = next[i];
        const int32_t s = (row[i] - b) * *weight++ + b * den;

        *y++ = (int8_t)nncc_pair_sat8(nncc_resize_high(s, mult, add) >> shift);
    }
}

#endif

void nncc_resize_linear_few_wide_s8(const nncc_resize_linear_s8_params *p, const int8_t *x, const int16_t *rows,
                                    const int16_t *cols, void *scratch, int8_t *y)
{
    NNCC_RESIZE_LINEAR(nncc_resize_few_wide);
}
