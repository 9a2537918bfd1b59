/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_resize_linear_wide_s8: four values in 11 instructions with Helium, 8 a value with SMMLA. */
#include "nncc_pair.h"
#include "nncc_resize_blend32.h"
#include "nncc_resize_linear.h"

typedef int32_t nncc_resize_wide_value;
typedef nncc_resize_linear_s8_params nncc_resize_wide_round;

static inline nncc_resize_wide_round nncc_resize_wide_rounding(const nncc_resize_linear_s8_params *p, const int8_t *x,
                                                               const int8_t *y)
{
    (void)x;
    (void)y;
    return *p;
}

static inline int32_t nncc_resize_wide_padded(const nncc_resize_wide_round *r, int32_t channels)
{
    (void)r;
    return channels;
}

static inline void nncc_resize_wide_blend(const nncc_resize_linear_s8_params *p, const nncc_resize_wide_round *r,
                                          const int8_t *a, const int8_t *b, int32_t wa, int32_t wb,
                                          nncc_resize_wide_value *row)
{
    (void)r;
    nncc_resize_blend32(p, a, b, wa, wb, row);
}

#if NNCC_MVE_C && !NNCC_PAIR_MVE
#define NNCC_RESIZE_WIDE_PIXEL(what, y) \
    do { \
        const int32x4_t u = NNCC_GETW##what(a), v = NNCC_GETW##what(b); \
        const int32x4_t s = vmulhq_s32(vmlaq_n_s32(vmulq_n_s32(u, wa), v, wb), mult); \
\
        NNCC_PUT4##what(y, nncc_limit4(vshlq_r_s32(vaddq_s32(s, add), up), lo, hi)); \
        a += 4; \
        b += 4; \
        y += 4; \
    } while (0)
#endif

static inline void nncc_resize_wide_pixel(const nncc_resize_wide_round *r, const nncc_resize_wide_value *a,
                                          const nncc_resize_wide_value *b, int32_t wa, int32_t wb, int8_t *y, int32_t n)
{
#if NNCC_PAIR_MVE
    const int32_t *const constants = &r->mult;

    __asm volatile("ldr lr, [%[constants]]\n\t"
                   "vdup.32 q2, lr\n\t"
                   "ldr lr, [%[constants], #4]\n\t"
                   "vdup.32 q3, lr\n\t"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrw.u32 q0, [%[a]], #16\n\t"
                   "vldrw.u32 q1, [%[b]], #16\n\t"
                   "vmul.i32 q0, q0, %[wa]\n\t"
                   "vmla.s32 q0, q1, %[wb]\n\t"
                   "vmulh.s32 q0, q0, q2\n\t"
                   "vadd.i32 q0, q0, q3\n\t"
                   "vshl.s32 q0, %[shift]\n\t"
                   "vqmovnb.s32 q0, q0\n\t"
                   "vqmovnb.s16 q0, q0\n\t"
                   "vstrb.32 q0, [%[y]], #4\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [a] "+r"(a), [b] "+r"(b), [y] "+l"(y)
                   : [n] "r"(n), [wa] "r"(wa), [wb] "r"(wb), [shift] "r"(-r->shift), [constants] "r"(constants)
                   : "lr", "q0", "q1", "q2", "q3", "cc", "memory");
#elif NNCC_MVE_C
    const int32x4_t mult = vdupq_n_s32(r->mult), add = vdupq_n_s32(r->add);
    const int32x4_t lo = vdupq_n_s32(-128), hi = vdupq_n_s32(127);
    const int32_t up = -r->shift;

    NNCC_MVE_LOOP(n, 4, vctp32q, NNCC_RESIZE_WIDE_PIXEL, y);
#else
    const int32_t mult = r->mult, add = r->add, shift = r->shift;

    for (; n > 0; n--) {
        *y++ = (int8_t)nncc_sat8(nncc_resize_high(*a++ * wa + *b++ * wb, mult, add) >> shift);
    }
#endif
}

static NNCC_RESIZE_APART void nncc_resize_wide_columns(const nncc_resize_linear_s8_params *p,
                                                       const nncc_resize_wide_round *rounding,
                                                       const nncc_resize_wide_value *row, const int16_t *w, int8_t *y)
{
    NNCC_RESIZE_COLUMNS(nncc_resize_wide);
}

void nncc_resize_linear_wide_s8(const nncc_resize_linear_s8_params *p, const int8_t *x, const int16_t *rows,
                                const int16_t *cols, void *scratch, int8_t *y)
{
    NNCC_RESIZE_LINEAR(nncc_resize_wide);
}
