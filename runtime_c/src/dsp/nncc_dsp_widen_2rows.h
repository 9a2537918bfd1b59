/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_widen_2rows.h: runs of bytes of two pixels side by side as int16, as they are (NNCC_WIDEN_UP 0), or counted
 * from -128 and 2^NNCC_WIDEN_UP times as large. Eight values are 2 LDR, 4 SXTB16 (else 2 EOR and 4 AND) and one STM of
 * 4 words; of rows of whole words 16 are 2 LDRD and one STM of 8.
 */
#ifndef NNCC_DSP_WIDEN_2ROWS_H
#define NNCC_DSP_WIDEN_2ROWS_H

#include "nncc_dsp_core.h"

#if NNCC_DSP_ASM

#define NNCC_TEXT_OF(v) #v
#define NNCC_TEXT(v) NNCC_TEXT_OF(v)

#if NNCC_WIDEN_UP
/* r8 has ones where bytes go, eight bits in each half. Signed bytes lose their upper half. */
#define NNCC_MASK "mov r8, #0x00ff00ff\n lsl r8, r8, #" NNCC_TEXT(NNCC_WIDEN_UP) "\n"
#define NNCC_ODD(to, w) "and " to ", r8, " w ", lsr #(8 - " NNCC_TEXT(NNCC_WIDEN_UP) ")\n"
#define NNCC_EVEN(w) "and " w ", r8, " w ", lsl #" NNCC_TEXT(NNCC_WIDEN_UP) "\n"
#define NNCC_WORD \
    "ldr r4, [r1], #4\n ldr r5, [r2], #4\n eor r4, r4, #0x80808080\n eor r5, r5, #0x80808080\n" NNCC_ODD("r6", "r4") \
        NNCC_ODD("r7", "r5") NNCC_EVEN("r4") NNCC_EVEN("r5") "stm r3!, {r4-r7}\n"
#define NNCC_TWO_WORDS \
    "ldrd r4, r9, [r1], #8\n ldrd r5, r10, [r2], #8\n" \
    "eor r4, r4, #0x80808080\n eor r5, r5, #0x80808080\n eor r9, r9, #0x80808080\n eor r10, r10, " \
    "#0x80808080\n" NNCC_ODD("r6", "r4") NNCC_ODD("r7", "r5") NNCC_ODD("r11", "r9") NNCC_ODD("lr", "r10") \
        NNCC_EVEN("r4") NNCC_EVEN("r5") NNCC_EVEN("r9") NNCC_EVEN("r10") "stm r3!, {r4-r7, r9-r11, lr}\n"
#define NNCC_HALVES(a) "eor " a ", " a ", #0x00800080\n lsl " a ", " a ", #" NNCC_TEXT(NNCC_WIDEN_UP) "\n"
#else
#define NNCC_MASK
#define NNCC_WORD \
    "ldr r4, [r1], #4\n ldr r5, [r2], #4\n sxtb16 r6, r4, ror #8\n sxtb16 r7, r5, ror #8\n" \
    "sxtb16 r4, r4\n sxtb16 r5, r5\n stm r3!, {r4-r7}\n"
#define NNCC_TWO_WORDS \
    "ldrd r4, r9, [r1], #8\n ldrd r5, r10, [r2], #8\n sxtb16 r6, r4, ror #8\n sxtb16 r7, r5, ror #8\n" \
    "sxtb16 r11, r9, ror #8\n sxtb16 lr, r10, ror #8\n sxtb16 r4, r4\n sxtb16 r5, r5\n sxtb16 r9, r9\n" \
    "sxtb16 r10, r10\n stm r3!, {r4-r7, r9-r11, lr}\n"
#define NNCC_HALVES(a) "sxtb16 " a ", " a "\n"
#endif

/* The body of a function (r, a, b, x). r0 is the bytes of a run behind its r11 words, r9 the runs that are left, r10
 * the bytes from the last word of a run to the next one, r12 the words that are left but one. */
/* clang-format off */
#define NNCC_WIDEN \
    ".syntax unified\n" \
    "push {r4-r11, lr}\n" \
    NNCC_MASK \
    "ldm r0, {r0, r9, r10}\n" \
    "lsr r11, r0, #2\n" \
    "sub r10, r10, r11, lsl #2\n" \
    "and r0, r0, #3\n" \
    "b 2f\n" \
    "1: add r1, r1, r10\n" \
    "add r2, r2, r10\n" \
    "2: subs r12, r11, #1\n" \
    "cmp r12, #3\n" \
    "blo 4f\n" \
    "blt 5f\n" \
    "orr r4, r1, r2\n" \
    "lsls r4, r4, #30\n" \
    "bne 4f\n" \
    "push {r0, r9-r11}\n" \
    "sub r12, r12, #3\n" \
    "3:\n" \
    NNCC_TWO_WORDS \
    NNCC_TWO_WORDS \
    "subs r12, r12, #4\n" \
    "bhs 3b\n" \
    "pop {r0, r9-r11}\n" \
    "adds r12, r12, #3\n" \
    "bmi 5f\n" \
    "4:\n" \
    NNCC_WORD \
    "subs r12, r12, #1\n" \
    "bpl 4b\n" \
    "5: cbnz r0, 7f\n" \
    "6: subs r9, r9, #1\n" \
    "bne 1b\n" \
    "mov r0, r3\n" \
    "pop {r4-r11, pc}\n" \
    "7: sub r12, r0, #1\n" \
    "ldrb r4, [r1]\n" \
    "ldrb r5, [r2]\n" \
    "ldrb r6, [r1, r12]\n" \
    "ldrb r7, [r2, r12]\n" \
    "orr r4, r4, r6, lsl #16\n" \
    "orr r5, r5, r7, lsl #16\n" \
    NNCC_HALVES("r4") \
    NNCC_HALVES("r5") \
    "stm r3!, {r4, r5}\n" \
    "cmp r0, #3\n" \
    "bne 6b\n" \
    "ldrb r4, [r1, #1]\n" \
    "ldrb r5, [r2, #1]\n" \
    NNCC_HALVES("r4") \
    NNCC_HALVES("r5") \
    "stm r3!, {r4, r5}\n" \
    "b 6b\n"
/* clang-format on */

#else

/* A byte as half a word. */
static inline int32_t nncc_dsp_wide_byte(int8_t v)
{
    return NNCC_WIDEN_UP > 0 ? (v + 128) << NNCC_WIDEN_UP : v;
}

/* Four bytes of both pixels. */
NNCC_INLINED void nncc_dsp_widen_4(const int8_t *a, const int8_t *b, int32_t *x)
{
    const int32_t u = nncc_dsp_load4(a), v = nncc_dsp_load4(b);

#if NNCC_WIDEN_UP
    const uint32_t u0 = (uint32_t)u ^ 0x80808080u, v0 = (uint32_t)v ^ 0x80808080u, mask = 0x00ff00ffu << NNCC_WIDEN_UP;
    const int32_t w0 = (int32_t)((u0 << NNCC_WIDEN_UP) & mask), w1 = (int32_t)((v0 << NNCC_WIDEN_UP) & mask);
    const int32_t w2 = (int32_t)((u0 >> (8 - NNCC_WIDEN_UP)) & mask),
                  w3 = (int32_t)((v0 >> (8 - NNCC_WIDEN_UP)) & mask);
#else
    const int32_t w0 = nncc_dsp_even(u), w1 = nncc_dsp_even(v), w2 = nncc_dsp_odd(u), w3 = nncc_dsp_odd(v);
#endif

    x[0] = w0;
    x[1] = w1;
    x[2] = w2;
    x[3] = w3;
}

/* Two bytes as half a word each. */
#if !NNCC_WIDEN_UP
#define NNCC_DSP_WIDE_PAIR(lo, hi) nncc_dsp_even((int32_t)((uint32_t)(uint8_t)(lo) | ((uint32_t)(uint8_t)(hi) << 16)))
#else
#define NNCC_DSP_WIDE_PAIR(lo, hi) nncc_dsp_pair(nncc_dsp_wide_byte(lo), nncc_dsp_wide_byte(hi))
#endif

/* The one to three bytes at the end of a run. A single one is in both halves: the upper ones meet weights of zero. */
static inline int32_t *nncc_dsp_widen_rest(const int8_t *a, const int8_t *b, int32_t n, int32_t *x)
{
    x[0] = NNCC_DSP_WIDE_PAIR(a[0], a[n - 1]);
    x[1] = NNCC_DSP_WIDE_PAIR(b[0], b[n - 1]);
    if (n == 3) {
        x[2] = NNCC_DSP_WIDE_PAIR(a[1], 0);
        x[3] = NNCC_DSP_WIDE_PAIR(b[1], 0);
        return x + 4;
    }
    return x + 2;
}

NNCC_INLINED int32_t *nncc_dsp_widen(const nncc_dsp_runs *r, const int8_t *a, const int8_t *b, int32_t *x)
{
    const int32_t words = r->length >> 2, rest = r->length & 3, skip = r->step - 4 * words;

    for (int32_t i = r->count; i > 0; i--) {
        int32_t n = words;

        for (; n >= 4; n -= 4) {
            nncc_dsp_widen_4(a, b, x);
            nncc_dsp_widen_4(a + 4, b + 4, x + 4);
            nncc_dsp_widen_4(a + 8, b + 8, x + 8);
            nncc_dsp_widen_4(a + 12, b + 12, x + 12);
            x += 16;
            a += 16;
            b += 16;
        }
        if ((n & 2) != 0) {
            nncc_dsp_widen_4(a, b, x);
            nncc_dsp_widen_4(a + 4, b + 4, x + 4);
            x += 8;
            a += 8;
            b += 8;
        }
        if ((n & 1) != 0) {
            nncc_dsp_widen_4(a, b, x);
            x += 4;
            a += 4;
            b += 4;
        }
        if (rest > 0) {
            x = nncc_dsp_widen_rest(a, b, rest, x);
        }
        a += skip;
        b += skip;
    }
    return x;
}

#endif

#endif /* NNCC_DSP_WIDEN_2ROWS_H */
