/*
 * nncc_helium_sum.h: the loop of nncc_helium_sum_s8 and nncc_helium_sum_away_s8. An including file defines NNCC_SUM_AWAY as 0 or 1.
 */
#ifndef NNCC_HELIUM_SUM_H
#define NNCC_HELIUM_SUM_H

#include "nncc_helium_core.h"

#if NNCC_HELIUM_MVE

#if NNCC_SUM_AWAY
#define NNCC_SUM_SHIFT                                                                                                             \
    "vshr.s32 q5, q0, #31\n\t"                                                                                                     \
    "vadd.i32 q0, q0, q5\n\t"                                                                                                      \
    "vrshl.s32 q0, %[shift]\n\t"                                                                                                   \
    "vadd.i32 q0, q0, %[zero]\n\t"
#else
#define NNCC_SUM_SHIFT "vshl.s32 q0, %[shift]\n\t"
#endif

static inline void nncc_sum(const nncc_helium_sum *p, const int8_t *x, const int8_t *y, int8_t *out)
{
    NNCC_REG(const int8_t *, from, "r0", x);
    NNCC_REG(const int8_t *, other, "r1", y);
    NNCC_REG(int8_t *, to, "r2", out);
    NNCC_REG(int32_t, n, "r3", p->n);
    NNCC_REG(int32_t, a, "r4", p->a);
    NNCC_REG(int32_t, b, "r5", p->b);
    NNCC_REG(int32_t, c, "r6", p->c);
    NNCC_REG(int32_t, shift, "r8", -p->shift);
    NNCC_REG(int32_t, zero, "r9", p->zero);
    NNCC_REG(int32_t, lo, "r10", p->act_min);
    NNCC_REG(int32_t, hi, "r11", p->act_max);

    __asm volatile("vdup.32 q2, %[a]\n\t"
                   "vdup.32 q3, %[lo]\n\t"
                   "vdup.32 q4, %[hi]\n\t"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.s32 q0, [%[x]], #4\n\t"
                   "vldrb.s32 q1, [%[y]], #4\n\t"
                   "vmlas.s32 q0, q2, %[c]\n\t"
                   "vmla.s32 q0, q1, %[b]\n\t"
                   NNCC_SUM_SHIFT
                   "vmax.s32 q0, q0, q3\n\t"
                   "vmin.s32 q0, q0, q4\n\t"
                   "vstrb.32 q0, [%[out]], #4\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [x] "+r"(from), [y] "+r"(other), [out] "+r"(to)
                   : [n] "r"(n), [a] "r"(a), [b] "r"(b), [c] "r"(c), [shift] "r"(shift), [zero] "r"(zero), [lo] "r"(lo), [hi] "r"(hi)
                   : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "cc", "memory");
}

#else

static inline void nncc_sum(const nncc_helium_sum *p, const int8_t *x, const int8_t *y, int8_t *out)
{
    int32_t i;

    for (i = 0; i < p->n; i++) {
        int32_t v = p->a * x[i] + p->b * y[i] + p->c;

        v = NNCC_SUM_AWAY ? nncc_rq_shift_right(v, p->shift) + p->zero : v >> p->shift;
        v = v > p->act_max ? p->act_max : v;
        out[i] = (int8_t)(v < p->act_min ? p->act_min : v);
    }
}

#endif

#endif /* NNCC_HELIUM_SUM_H */
