#include "nncc_helium_avg_pool.h"

#if NNCC_HELIUM_MVE

#if !defined(__clang__)
#pragma GCC optimize("Os") /* all that repeats is in assembly */
#endif

/*
 * Means of all channels, a single pixel taken twice. The even channels' sums are in q0, the odd ones' in q1. A sum plus
 * start is positive, and floor((sum + start) * mult / 2^(16 + shift)) the mean plus 128, exactly for up to 185 bytes.
 * In an even number of bytes positive sums are one larger (tie): their ties go up, those of negative sums down.
 */
static void nncc_pool_window(const nncc_helium_pool_params *p, const nncc_window *w, int8_t *to)
{
    const int32_t single = w->runs * w->length == 1 ? 1 : 0, count = w->runs * w->length + single;
    const int32_t log = 31 - __builtin_clz((uint32_t)count - 1u), one = (count & 1) ^ 1;
    int32_t mean[4] = {(int32_t)(((0x10000u << log) + (uint32_t)count - 1u) / (uint32_t)count), -log, p->act_min,
                       p->act_max};
    NNCC_REG(const int8_t *, x, "r0", w->x);
    NNCC_REG(const int32_t *, t, "r1", mean); /* then the runs that are left */
    NNCC_REG(int8_t *, y, "r2", to);
    NNCC_REG(const int8_t *, base, "r3", w->x);
    NNCC_REG(int32_t, pitch, "r4", p->in_pitch);
    NNCC_REG(int32_t, gap, "r5", (single != 0 ? 0 : w->step) - w->length * p->in_pitch);
    NNCC_REG(int32_t, length, "r6", w->length);
    NNCC_REG(int32_t, runs, "r8", w->runs + single);
    NNCC_REG(int32_t, start, "r9", (count >> 1) - one + 128 * count);
    NNCC_REG(int32_t, tie, "r10", one);
    NNCC_REG(int32_t, left, "r11", p->channels);
    NNCC_REG(int32_t, middle, "r12", 128);

    __asm volatile("ldrd %[x], lr, [%[t]]\n\t"
                   "vdup.16 q4, %[x]\n\t"
                   "vdup.16 q5, lr\n\t"
                   "ldrd %[x], lr, [%[t], #8]\n\t"
                   "vdup.8 q6, %[x]\n\t"
                   "vdup.8 q7, lr\n"
                   "1:\n\t"
                   "vctp.8 %[left]\n\t"
                   "vdup.16 q0, %[start]\n\t"
                   "vmov q1, q0\n\t"
                   "mov %[x], %[base]\n\t"
                   "mov %[t], %[runs]\n"
                   "2:\n\t"
                   "dls lr, %[length]\n"
                   "3:\n\t"
                   "vpst\n\t"
                   "vldrbt.8 q2, [%[x]]\n\t"
                   "add %[x], %[x], %[pitch]\n\t"
                   "vmovlb.s8 q3, q2\n\t"
                   "vmovlt.s8 q2, q2\n\t"
                   "vadd.i16 q0, q0, q3\n\t"
                   "vadd.i16 q1, q1, q2\n\t"
                   "le lr, 3b\n\t"
                   "add %[x], %[x], %[gap]\n\t"
                   "subs %[t], %[t], #1\n\t"
                   "bne 2b\n\t"
                   "vpt.u16 cs, q0, %[start]\n\t"
                   "vaddt.i16 q0, q0, %[tie]\n\t"
                   "vpt.u16 cs, q1, %[start]\n\t"
                   "vaddt.i16 q1, q1, %[tie]\n\t"
                   "vmulh.u16 q0, q0, q4\n\t"
                   "vmulh.u16 q1, q1, q4\n\t"
                   "vshl.u16 q0, q0, q5\n\t"
                   "vshl.u16 q1, q1, q5\n\t"
                   "vmovnt.i16 q0, q1\n\t"
                   "vsub.i8 q0, q0, %[middle]\n\t"
                   "vmax.s8 q0, q0, q6\n\t"
                   "vmin.s8 q0, q0, q7\n\t"
                   "add %[base], %[base], #16\n\t"
                   "vctp.8 %[left]\n\t"
                   "vpst\n\t"
                   "vstrbt.8 q0, [%[y]], #16\n\t"
                   "subs %[left], %[left], #16\n\t"
                   "bgt 1b\n\t"
                   : [x] "+r"(x), [t] "+r"(t), [y] "+r"(y), [base] "+r"(base), [left] "+r"(left)
                   : [pitch] "r"(pitch), [gap] "r"(gap), [length] "r"(length), [runs] "r"(runs), [start] "r"(start),
                     [tie] "r"(tie), [middle] "r"(middle)
                   : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
}

#endif

void nncc_helium_avg_pool_short_s8(const nncc_helium_pool_params *p, const int8_t *x, int8_t *y)
{
    nncc_pool(p, x, y);
}
