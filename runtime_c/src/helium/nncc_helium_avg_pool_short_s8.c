/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_avg_pool.h"
#include "nncc_bits.h"
#include "nncc_helium_fours.h"

#if NNCC_HELIUM_ASM

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

/* Ties go away from zero: up, with negative sums one down before. */
static void nncc_pool_four(const nncc_helium_pool_params *p, const int8_t *x, int32_t right, int32_t down, int32_t n,
                           int8_t *y)
{
    NNCC_POOL_FOUR("16", 8, "vldrb.s16",
                   "vadd.i16 q0, q0, q1\n\tvadd.i16 q2, q2, q3\n\tvadd.i16 q0, q0, q2\n\t"
                   "vshr.s16 q1, q0, #15\n\tvadd.i16 q0, q0, q1\n\tvrshr.s16 q0, q0, #2\n\t",
                   "vstrb.16");
}

#elif NNCC_HELIUM_MVE

/* The mean plus 128 of eight sums, which are start and more. */
static inline uint16x8_t nncc_pool_mean(uint16x8_t sum, uint16_t start, uint16_t tie, uint16_t mult, int32_t shift)
{
    sum = vaddq_m_n_u16(sum, sum, tie, vcmpcsq_n_u16(sum, start));
    return vshlq_r_u16(vmulhq_u16(sum, vdupq_n_u16(mult)), shift);
}

/* The same: a sum plus start is positive, and the mean plus 128 its product with mult. */
static void nncc_pool_window(const nncc_helium_pool_params *p, const nncc_window *w, int8_t *y)
{
    const int32_t single = w->runs * w->length == 1 ? 1 : 0, count = w->runs * w->length + single;
    const int32_t log = 31 - nncc_leading_zeros((uint32_t)count - 1u), one = (count & 1) ^ 1, pitch = p->in_pitch;
    const uint16_t mult = (uint16_t)(((0x10000u << log) + (uint32_t)count - 1u) / (uint32_t)count);
    const uint16_t start = (uint16_t)((count >> 1) - one + 128 * count);
    const int32_t step = single != 0 ? 0 : w->step;

    for (int32_t c = 0; c < p->channels; c += NNCC_HELIUM_BYTES) {
        const mve_pred16_t lanes = vctp8q((uint32_t)(p->channels - c));
        int16x8_t even = vdupq_n_s16((int16_t)start), odd = even;
        uint8x16_t mean;
        int8x16_t v;

        for (int32_t r = 0; r < w->runs + single; r++) {
            const int8_t *x = w->x + r * step + c;

            for (int32_t i = w->length; i > 0; i--) {
                v = vldrbq_z_s8(x, lanes);
                even = vaddq_s16(even, vmovlbq_s8(v));
                odd = vaddq_s16(odd, vmovltq_s8(v));
                x += pitch;
            }
        }
        mean = vreinterpretq_u8_u16(nncc_pool_mean(vreinterpretq_u16_s16(even), start, (uint16_t)one, mult, -log));
        mean = vmovntq_u16(mean, nncc_pool_mean(vreinterpretq_u16_s16(odd), start, (uint16_t)one, mult, -log));
        v = vreinterpretq_s8_u8(vsubq_n_u8(mean, 128));
        v = vminq_s8(vmaxq_s8(v, vdupq_n_s8((int8_t)p->act_min)), vdupq_n_s8((int8_t)p->act_max));
        vstrbq_p_s8(y + c, v, lanes);
    }
}

#endif

void nncc_helium_avg_pool_short_s8(const nncc_helium_pool_params *p, const int8_t *x, int8_t *y)
{
    nncc_pool_windows(p, x, y);
}
