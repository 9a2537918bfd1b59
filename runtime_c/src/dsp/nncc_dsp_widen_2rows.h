/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_widen_2rows.h: bytes of two pixels side by side as int16, as they are (NNCC_WIDEN_UP 0), or counted from
 * -128 and 2^NNCC_WIDEN_UP times as large. Eight values are 2 LDR, 4 SXTB16 (else 2 EOR and 4 AND) and one STM of 4
 * words; of rows of whole words 16 are 2 LDRD and one STM of 8.
 */
#ifndef NNCC_DSP_WIDEN_2ROWS_H
#define NNCC_DSP_WIDEN_2ROWS_H

#include "nncc_dsp_core.h"

#if NNCC_DSP_ASM

#define NNCC_TEXT_OF(v) #v
#define NNCC_TEXT(v) NNCC_TEXT_OF(v)

#if NNCC_WIDEN_UP
/* r8 has ones where bytes go, eight bits in each half. Signed bytes lose their upper half. */
#define NNCC_SAVED "r4-r8"
#define NNCC_POSITIVE(r)
#define NNCC_MASK "mov r8, #0x00ff00ff\n lsl r8, r8, #" NNCC_TEXT(NNCC_WIDEN_UP) "\n"
#define NNCC_ODD(to, w) "and " to ", r8, " w ", lsr #(8 - " NNCC_TEXT(NNCC_WIDEN_UP) ")\n"
#define NNCC_EVEN(w) "and " w ", r8, " w ", lsl #" NNCC_TEXT(NNCC_WIDEN_UP) "\n"
#define NNCC_WORD \
    "ldr r4, [r0], #4\n ldr r5, [r1], #4\n eor r4, r4, #0x80808080\n eor r5, r5, #0x80808080\n" NNCC_ODD("r6", "r4") \
        NNCC_ODD("r7", "r5") NNCC_EVEN("r4") NNCC_EVEN("r5") "stm r3!, {r4-r7}\n"
#define NNCC_TWO_WORDS \
    "ldrd r4, r9, [r0], #8\n ldrd r5, r10, [r1], #8\n" \
    "eor r4, r4, #0x80808080\n eor r5, r5, #0x80808080\n eor r9, r9, #0x80808080\n eor r10, r10, " \
    "#0x80808080\n" NNCC_ODD("r6", "r4") NNCC_ODD("r7", "r5") NNCC_ODD("r11", "r9") NNCC_ODD("lr", "r10") \
        NNCC_EVEN("r4") NNCC_EVEN("r5") NNCC_EVEN("r9") NNCC_EVEN("r10") "stm r3!, {r4-r7, r9-r11, lr}\n"
#define NNCC_BYTE(r, from) \
    "ldrb " r ", " from "\n eor " r ", " r ", #0x80\n lsl " r ", " r ", #" NNCC_TEXT(NNCC_WIDEN_UP) "\n"
#else
#define NNCC_SAVED "r4-r7"
#define NNCC_MASK
#define NNCC_POSITIVE(r) "uxth " r ", " r "\n"
#define NNCC_WORD \
    "ldr r4, [r0], #4\n ldr r5, [r1], #4\n sxtb16 r6, r4, ror #8\n sxtb16 r7, r5, ror #8\n" \
    "sxtb16 r4, r4\n sxtb16 r5, r5\n stm r3!, {r4-r7}\n"
#define NNCC_TWO_WORDS \
    "ldrd r4, r9, [r0], #8\n ldrd r5, r10, [r1], #8\n sxtb16 r6, r4, ror #8\n sxtb16 r7, r5, ror #8\n" \
    "sxtb16 r11, r9, ror #8\n sxtb16 lr, r10, ror #8\n sxtb16 r4, r4\n sxtb16 r5, r5\n sxtb16 r9, r9\n" \
    "sxtb16 r10, r10\n stm r3!, {r4-r7, r9-r11, lr}\n"
#define NNCC_BYTE(r, from) "ldrsb " r ", " from "\n"
#endif

/* The body of a function (a, b, n, x). */
/* clang-format off */
#define NNCC_WIDEN \
    ".syntax unified\n" \
    "push {" NNCC_SAVED "}\n" \
    NNCC_MASK \
    "lsrs r12, r2, #2\n" \
    "beq 4f\n" \
    "cmp r12, #4\n" \
    "blo 3f\n" \
    "orr r4, r0, r1\n" \
    "lsls r4, r4, #30\n" \
    "bne 3f\n" \
    "push {r9-r11, lr}\n" \
    "subs r12, r12, #4\n" \
    "2:\n" \
    NNCC_TWO_WORDS \
    NNCC_TWO_WORDS \
    "subs r12, r12, #4\n" \
    "bhs 2b\n" \
    "pop {r9-r11, lr}\n" \
    "adds r12, r12, #4\n" \
    "beq 4f\n" \
    "3:\n" \
    NNCC_WORD \
    "subs r12, r12, #1\n" \
    "bne 3b\n" \
    "4: ands r2, r2, #3\n" \
    "beq 7f\n" \
    NNCC_BYTE("r4", "[r0]") \
    NNCC_BYTE("r5", "[r1]") \
    "cmp r2, #2\n" \
    "blt 6f\n" \
    NNCC_BYTE("r6", "[r0, #1]") \
    NNCC_BYTE("r7", "[r1, #1]") \
    "bne 5f\n" \
    "pkhbt r4, r4, r6, lsl #16\n" \
    "pkhbt r5, r5, r7, lsl #16\n" \
    "stm r3!, {r4, r5}\n" \
    "b 7f\n" \
    "5:\n" \
    NNCC_BYTE("r12", "[r0, #2]") \
    NNCC_BYTE("r2", "[r1, #2]") \
    "pkhbt r4, r4, r12, lsl #16\n" \
    "pkhbt r5, r5, r2, lsl #16\n" \
    NNCC_POSITIVE("r6") \
    NNCC_POSITIVE("r7") \
    "stm r3!, {r4-r7}\n" \
    "b 7f\n" \
    "6:\n" \
    NNCC_POSITIVE("r4") \
    NNCC_POSITIVE("r5") \
    "stm r3!, {r4, r5}\n" \
    "7:\n" \
    "mov r0, r3\n" \
    "pop {" NNCC_SAVED "}\n" \
    "bx lr\n"
/* clang-format on */

#else

/* A byte as half a word. */
static inline int32_t nncc_dsp_wide_byte(int8_t v)
{
    return NNCC_WIDEN_UP > 0 ? (v + 128) << NNCC_WIDEN_UP : v;
}

/* Bytes 0 and 2 of four, and bytes 1 and 3. */
static inline void nncc_dsp_widen_4(const int8_t *v, int32_t *even, int32_t *odd)
{
#if NNCC_DSP_ACLE && NNCC_WIDEN_UP
    const uint32_t w = (uint32_t)nncc_dsp_load4(v) ^ 0x80808080u, mask = 0x00ff00ffu << NNCC_WIDEN_UP;

    *even = (int32_t)((w << NNCC_WIDEN_UP) & mask);
    *odd = (int32_t)((w >> (8 - NNCC_WIDEN_UP)) & mask);
#elif NNCC_DSP_ACLE
    const int32_t w = nncc_dsp_load4(v);

    *even = nncc_dsp_even(w);
    *odd = nncc_dsp_odd(w);
#else
    *even = nncc_dsp_pair(nncc_dsp_wide_byte(v[0]), nncc_dsp_wide_byte(v[2]));
    *odd = nncc_dsp_pair(nncc_dsp_wide_byte(v[1]), nncc_dsp_wide_byte(v[3]));
#endif
}

static inline int32_t *nncc_dsp_widen(const int8_t *a, const int8_t *b, int32_t n, int32_t *x)
{
    for (; n >= 4; n -= 4) {
        nncc_dsp_widen_4(a, x, x + 2);
        nncc_dsp_widen_4(b, x + 1, x + 3);
        x += 4;
        a += 4;
        b += 4;
    }
    if (n == 3) {
        *x++ = nncc_dsp_pair(nncc_dsp_wide_byte(a[0]), nncc_dsp_wide_byte(a[2]));
        *x++ = nncc_dsp_pair(nncc_dsp_wide_byte(b[0]), nncc_dsp_wide_byte(b[2]));
        *x++ = nncc_dsp_pair(nncc_dsp_wide_byte(a[1]), 0);
        *x++ = nncc_dsp_pair(nncc_dsp_wide_byte(b[1]), 0);
    } else if (n > 0) {
        *x++ = nncc_dsp_pair(nncc_dsp_wide_byte(a[0]), n > 1 ? nncc_dsp_wide_byte(a[1]) : 0);
        *x++ = nncc_dsp_pair(nncc_dsp_wide_byte(b[0]), n > 1 ? nncc_dsp_wide_byte(b[1]) : 0);
    }
    return x;
}

#endif

#endif /* NNCC_DSP_WIDEN_2ROWS_H */
