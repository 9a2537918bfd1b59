/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_softmax_s8: a maximum, the exponentials from their table with their sum, the shares. */
#include "nncc_dsp_core.h"

#include "nncc_bits.h"
#include "nncc_reciprocal.h"
#include "nncc_simd32.h"
#include "nncc_softmax_exp.h"

/* Fraction bits that the sum of exponentials gives up for range. */
#define NNCC_SOFTMAX_SUM_BITS 12

static int32_t nncc_softmax_top(const int8_t *x, int32_t n)
{
    int32_t top = -128;
    int32_t i = 0;

#if NNCC_SIMD32
    if (n >= 4) {
        uint32_t m = (uint32_t)nncc_dsp_load4(x);

        for (i = 4; i + 4 <= n; i += 4) {
            m = nncc_max8(m, (uint32_t)nncc_dsp_load4(x + i));
        }
        m = nncc_max8(m, (m >> 16) | (m << 16));
        m = nncc_max8(m, m >> 8);
        top = nncc_dsp_byte((int32_t)m);
    }
#endif
    for (; i < n; i++) {
        top = x[i] > top ? x[i] : top;
    }
    return top;
}

/* What a term adds to the sum. */
static inline uint32_t nncc_softmax_part(int32_t t)
{
    return ((uint32_t)t + (1u << (NNCC_SOFTMAX_SUM_BITS - 1))) >> NNCC_SOFTMAX_SUM_BITS;
}

/* The terms of a row, table[0] that of the value 0, and their sum. */
static uint32_t nncc_softmax_sum(const int8_t *x, int32_t n, const int32_t *table, int32_t *terms)
{
    uint32_t sum = 0;

#if NNCC_DSP_ASM
    if (n >= 4) {
        register const int8_t *from __asm("r0") = x;
        register const int32_t *t __asm("r1") = table;
        register int32_t *to __asm("r2") = terms;
        register int32_t fours __asm("r3") = n >> 2;
        register uint32_t s __asm("r4") = 0;

        __asm volatile("1:\n\t"
                       "ldr r5, [%[x]], #4\n\t"
                       "sxtb r8, r5\n\t"
                       "sxtb r9, r5, ror #8\n\t"
                       "sxtb r10, r5, ror #16\n\t"
                       "asr r11, r5, #24\n\t"
                       "ldr r8, [%[t], r8, lsl #2]\n\t"
                       "ldr r9, [%[t], r9, lsl #2]\n\t"
                       "ldr r10, [%[t], r10, lsl #2]\n\t"
                       "ldr r11, [%[t], r11, lsl #2]\n\t"
                       "add r12, r8, #2048\n\t"
                       "add %[s], %[s], r12, lsr #12\n\t"
                       "add r12, r9, #2048\n\t"
                       "add %[s], %[s], r12, lsr #12\n\t"
                       "add r12, r10, #2048\n\t"
                       "add %[s], %[s], r12, lsr #12\n\t"
                       "add r12, r11, #2048\n\t"
                       "add %[s], %[s], r12, lsr #12\n\t"
                       "stmia %[to]!, {r8, r9, r10, r11}\n\t"
                       "subs %[n], %[n], #1\n\t"
                       "bne 1b\n\t"
                       : [x] "+r"(from), [to] "+r"(to), [n] "+r"(fours), [s] "+r"(s)
                       : [t] "r"(t)
                       : "r5", "r8", "r9", "r10", "r11", "r12", "cc", "memory");
        sum = s;
        x += n & ~3;
        terms += n & ~3;
        n &= 3;
    }
#endif
    for (; n > 0; n--) {
        const int32_t t = table[*x++];

        *terms++ = t;
        sum += nncc_softmax_part(t);
    }
    return sum;
}

/* Upper half of 2 * t * scale, rounded, for positive numbers. */
static inline uint32_t nncc_softmax_share(uint32_t t, uint32_t scale)
{
#if NNCC_THUMB1_ASM
    const uint32_t t_hi = t >> 16, t_lo = t & 0xffffu, s_hi = scale >> 16, s_lo = scale & 0xffffu;
    const uint32_t mid = t_hi * s_lo + ((t_lo * s_lo) >> 16);
    const uint32_t low = t_lo * s_hi + (mid & 0xffffu);

    return 2u * (t_hi * s_hi + (mid >> 16) + (low >> 16)) + ((((low & 0xffffu) >> 14) + 1u) >> 1);
#else
    return (uint32_t)(((uint64_t)t * scale + 0x40000000u) >> 31);
#endif
}

/* y = terms * scale / 2^shift - 128 for a shift of at least 23 */
static void nncc_softmax_shares(const int32_t *terms, int32_t n, int32_t scale, int32_t shift, int8_t *y)
{
    const uint32_t half = (uint32_t)1 << (shift - 1);

#if NNCC_DSP_ASM
    if (n >= 4 && scale >= (int32_t)1 << 30) { /* all but rounding errors of the smallest */
        register const int32_t *from __asm("r0") = terms;
        register int8_t *to __asm("r1") = y;
        register int32_t fours __asm("r2") = n >> 2;
        register int32_t k __asm("r3") = (int32_t)(2u * (uint32_t)scale); /* less 2^32: that many terms are added */
        register uint32_t h __asm("r4") = half;
        register int32_t s __asm("r5") = shift;
        register uint32_t sign __asm("r6") = 0x80808080u;

        __asm volatile("1:\n\t"
                       "ldmia %[x]!, {r8, r9, r10, r11}\n\t"
                       "smmlar r8, r8, %[k], r8\n\t"
                       "smmlar r9, r9, %[k], r9\n\t"
                       "smmlar r10, r10, %[k], r10\n\t"
                       "smmlar r11, r11, %[k], r11\n\t"
                       "add r8, r8, %[h]\n\t"
                       "add r9, r9, %[h]\n\t"
                       "add r10, r10, %[h]\n\t"
                       "add r11, r11, %[h]\n\t"
                       "lsr r8, r8, %[s]\n\t"
                       "lsr r9, r9, %[s]\n\t"
                       "lsr r10, r10, %[s]\n\t"
                       "lsr r11, r11, %[s]\n\t"
                       "pkhbt r8, r8, r10, lsl #16\n\t"
                       "pkhbt r9, r9, r11, lsl #16\n\t"
                       "usat16 r8, #8, r8\n\t"
                       "usat16 r9, #8, r9\n\t"
                       "orr r8, r8, r9, lsl #8\n\t"
                       "eor r8, r8, %[sign]\n\t"
                       "str r8, [%[y]], #4\n\t"
                       "subs %[n], %[n], #1\n\t"
                       "bne 1b\n\t"
                       : [x] "+r"(from), [y] "+r"(to), [n] "+r"(fours)
                       : [k] "r"(k), [h] "r"(h), [s] "r"(s), [sign] "r"(sign)
                       : "r8", "r9", "r10", "r11", "cc", "memory");
        terms += n & ~3;
        y += n & ~3;
        n &= 3;
    }
#endif
    for (; n > 0; n--) {
        const uint32_t v = (nncc_softmax_share((uint32_t)*terms++, (uint32_t)scale) + half) >> shift;

        *y++ = (int8_t)((int32_t)(v > 255u ? 255u : v) - 128);
    }
}

void nncc_dsp_softmax_s8(const nncc_dsp_softmax_params *p, const int8_t *x, const int32_t *table, int32_t *scratch,
                         int8_t *y)
{
    for (int32_t r = 0; r < p->rows; r++) {
        const uint32_t sum =
            nncc_softmax_whole(nncc_softmax_sum(x, p->size, table + 255 - nncc_softmax_top(x, p->size), scratch));
        const int32_t room = nncc_leading_zeros(sum);

        int32_t shift = NNCC_SOFTMAX_SUM_BITS + 23 - room;
        if (shift < 32) {
            nncc_softmax_shares(scratch, p->size, nncc_reciprocal(sum << room), shift, y);
        } else {
            memset(y, -128, (size_t)p->size); /* below half a step each */
        }
        x += p->size;
        y += p->size;
    }
}
