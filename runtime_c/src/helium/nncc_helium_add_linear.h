/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_add_linear.h: the loop of nncc_helium_add_linear*_s8. An including file defines NNCC_SUM as one of the
 * three forms.
 */
#include "nncc_helium_core.h"

#define NNCC_SUM_DOWN 0
#define NNCC_SUM_AWAY 1
#define NNCC_SUM_FINE 2

#if NNCC_HELIUM_ASM

#if NNCC_SUM == NNCC_SUM_AWAY
#define NNCC_SUM_RESULT \
    "vmla.s32 q0, q1, %[b]\n\t" \
    "vshr.s32 q5, q0, #31\n\t" \
    "vadd.i32 q0, q0, q5\n\t" \
    "vrshl.s32 q0, %[shift]\n\t" \
    "vadd.i32 q0, q0, %[zero]\n\t"
#elif NNCC_SUM == NNCC_SUM_FINE
#define NNCC_SUM_RESULT \
    "vmul.i32 q1, q1, %[b]\n\t" \
    "vqrdmulh.s32 q1, q1, %[b_mult]\n\t" \
    "vadd.i32 q0, q0, q1\n\t" \
    "vqrdmulh.s32 q0, q0, %[mult]\n\t" \
    "vshl.s32 q0, %[shift]\n\t"
#else
#define NNCC_SUM_RESULT "vmla.s32 q0, q1, %[b]\n\tvshl.s32 q0, %[shift]\n\t"
#endif

static inline void nncc_sum(const nncc_helium_add_linear_params *p, const int8_t *x, const int8_t *y, int8_t *out,
                            int32_t count)
{
    NNCC_REG(const int8_t *, from, "r0", x);
    NNCC_REG(const int8_t *, other, "r1", y);
    NNCC_REG(int8_t *, to, "r2", out);
    NNCC_REG(int32_t, n, "r3", count);
    NNCC_REG(int32_t, b, "r5", p->b);
    NNCC_REG(int32_t, c, "r6", p->c);
    NNCC_REG(int32_t, shift, "r8", -p->shift);
    NNCC_REG(int32_t, zero, "r9", p->zero);
    NNCC_REG(int32_t, b_mult, "r10", p->b_mult);
    NNCC_REG(int32_t, mult, "r11", p->mult);
    NNCC_REG(const nncc_helium_add_linear_params *, sum, "r12", p);

    __asm volatile("ldr r4, [%[sum]]\n\t"
                   "vdup.32 q2, r4\n\t"
                   "ldr r4, [%[sum], #28]\n\t"
                   "vdup.32 q3, r4\n\t"
                   "ldr r4, [%[sum], #32]\n\t"
                   "vdup.32 q4, r4\n\t"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.s32 q0, [%[x]], #4\n\t"
                   "vldrb.s32 q1, [%[y]], #4\n\t"
                   "vmlas.s32 q0, q2, %[c]\n\t" NNCC_SUM_RESULT "vmax.s32 q0, q0, q3\n\t"
                   "vmin.s32 q0, q0, q4\n\t"
                   "vstrb.32 q0, [%[out]], #4\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [x] "+r"(from), [y] "+r"(other), [out] "+r"(to)
                   : [n] "r"(n), [b] "r"(b), [c] "r"(c), [shift] "r"(shift), [zero] "r"(zero), [b_mult] "r"(b_mult),
                     [mult] "r"(mult), [sum] "r"(sum)
                   : "r4", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "cc", "memory");
}

#elif NNCC_HELIUM_MVE

#if NNCC_SUM == NNCC_SUM_AWAY
#define NNCC_SUM_FOUR(u, v) \
    do { \
        u = vmlaq_n_s32(vmlasq_n_s32(u, a, c), v, b); \
        u = vaddq_n_s32(vrshlq_n_s32(NNCC_ROUND_ALL(u), down), zero); \
    } while (0)
#elif NNCC_SUM == NNCC_SUM_FINE
#define NNCC_SUM_FOUR(u, v) \
    do { \
        u = vaddq_s32(vmlasq_n_s32(u, a, c), vqrdmulhq_n_s32(vmulq_n_s32(v, b), b_mult)); \
        u = vshlq_r_s32(vqrdmulhq_n_s32(u, mult), down); \
    } while (0)
#else
#define NNCC_SUM_FOUR(u, v) u = vshlq_r_s32(vmlaq_n_s32(vmlasq_n_s32(u, a, c), v, b), down)
#endif

static inline void nncc_sum(const nncc_helium_add_linear_params *p, const int8_t *x, const int8_t *y, int8_t *out,
                            int32_t count)
{
    const int32x4_t a = vdupq_n_s32(p->a), lo = vdupq_n_s32(p->act_min), hi = vdupq_n_s32(p->act_max);
    const int32_t b = p->b, c = p->c, down = -p->shift;
#if NNCC_SUM == NNCC_SUM_AWAY
    const int32_t zero = p->zero;
#elif NNCC_SUM == NNCC_SUM_FINE
    const int32_t b_mult = p->b_mult, mult = p->mult;
#endif

    for (int32_t n = count >> 2; n > 0; n--) {
        int32x4_t u = vldrbq_s32(x), v = vldrbq_s32(y);

        NNCC_SUM_FOUR(u, v);
        vstrbq_s32(out, vminq_s32(vmaxq_s32(u, lo), hi));
        x += 4;
        y += 4;
        out += 4;
    }
    if ((count & 3) != 0) {
        const mve_pred16_t rest = vctp32q((uint32_t)count & 3);
        int32x4_t u = vldrbq_z_s32(x, rest), v = vldrbq_z_s32(y, rest);

        NNCC_SUM_FOUR(u, v);
        vstrbq_p_s32(out, vminq_s32(vmaxq_s32(u, lo), hi), rest);
    }
}

#else

static inline int32_t nncc_sum_of(const nncc_helium_add_linear_params *p, int32_t x, int32_t y)
{
#if NNCC_SUM == NNCC_SUM_FINE
    return nncc_rq_high_mult(p->a * x + p->c + nncc_rq_high_mult(p->b * y, p->b_mult), p->mult) >> p->shift;
#elif NNCC_SUM == NNCC_SUM_AWAY
    return nncc_rq_shift_right(p->a * x + p->b * y + p->c, p->shift) + p->zero;
#else
    return (p->a * x + p->b * y + p->c) >> p->shift;
#endif
}

static inline void nncc_sum(const nncc_helium_add_linear_params *p, const int8_t *x, const int8_t *y, int8_t *out,
                            int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t v = nncc_sum_of(p, x[i], y[i]);

        v = v > p->act_max ? p->act_max : v;
        out[i] = (int8_t)(v < p->act_min ? p->act_min : v);
    }
}

#endif
