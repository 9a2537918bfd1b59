/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_3x3_stride2.h: a row of a 3x3 depthwise convolution with stride 2, one channel after the other.
 *
 * A word holds the same column of two rows. With the rows r0, r1 in P and r2, r3 in Q, a column adds P * (w0, w1) + r2
 * * w2. Two outputs at a time need five columns of inputs; with Relu the last one stays where the next two outputs want
 * it. They are 4 LDRD, 12 SMLAxy/SMLAD and, with requantisation and stores, 26 instructions for 18 MACs (32 without
 * Relu): per MAC 0.5 words loaded, 0.67 MACs, 0.11 stores, 0.4 others.
 */
#ifndef NNCC_DSP_DEPTHWISE_3X3_STRIDE2_H
#define NNCC_DSP_DEPTHWISE_3X3_STRIDE2_H

#include "nncc_dsp_depthwise_3x3.h"

#if NNCC_DSP_ASM

/* One column of inputs for the sum a, which begins with the value a0; h is the half of w2. */
#define NNCC_COLUMN(a, a0, w01, w2, h) "smlad " a ", r2, " w01 ", " a0 "\n smlab" h " " a ", r3, " w2 ", " a "\n"
#define NNCC_MORE(a, w01, w2, h) NNCC_COLUMN(a, a, w01, w2, h)

/* The first column of the next outputs is at hand, or it is loaded again. */
#if NNCC_ROWS_RELU
#define NNCC_WORDS "ldm r10!, {r11, r12, lr}\n"
#define NNCC_AGAIN(P, Q)
#define NNCC_ONE NNCC_OUTPUT_RELU("r10", "r12", "lr")
#define NNCC_TWO NNCC_ONE NNCC_OUTPUT_RELU("r11", "r12", "lr")
#else
#define NNCC_WORDS "ldm r10!, {r11, r12, lr}\n ldr r2, [r10], #4\n str r2, [sp, #8]\n"
#define NNCC_AGAIN(P, Q) "ldrd " P ", " Q ", [r0, #-32]\n"
#define NNCC_ONE "ldr r2, [sp, #8]\n" NNCC_OUTPUT("r10", "r12", "lr", "r2", "r3")
#define NNCC_TWO NNCC_ONE NNCC_OUTPUT("r11", "r12", "lr", "r2", "r3")
#endif

/*
 * r4, r5, r6 hold (w0, w1) of the columns, r7 w2 of the first two and r8 of the third one, r9 the step of outputs, r12
 * m, lr c, r11 the start value in front of outputs. Frame: 0 start, 4 end of x, 8 d, 12 x, 16 y, 20 w, 24 x behind the
 * last channel, 28 bytes of whole pairs of outputs, 32 an odd last output.
 */
#define NNCC_ROWS3_BY2(P, Q) \
    ".syntax unified\n" \
    "push {r4-r11, lr}\n sub sp, #36\n" \
    "ldrd r4, r9, [r0]\n add r5, r1, #32\n strd r2, r5, [sp, #20]\n" \
    "lsrs r5, r4, #1\n lsl r5, r5, #7\n adds r5, #32\n and r6, r4, #1\n strd r5, r6, [sp, #28]\n" \
    "strd r1, r3, [sp, #12]\n" \
    "1:\n" \
    "ldr r10, [sp, #20]\n ldm r10!, {r4-r8}\n" NNCC_WORDS "str r10, [sp, #20]\n" \
    "ldrd r0, r1, [sp, #12]\n ldr r2, [sp, #28]\n add r2, r0, r2\n strd r11, r2, [sp]\n" \
    "ldrd " P ", " Q ", [r0], #32\n" \
    "2:\n" NNCC_COLUMN("r10", "r11", "r4", "r7", "b") "ldrd " P ", " Q ", [r0], #32\n" NNCC_MORE( \
        "r10", "r5", "r7", "t") "ldrd " P ", " Q ", [r0], #32\n" NNCC_MORE("r10", "r6", "r8", "b") \
        NNCC_MORE("r11", "r4", "r7", "b") "ldrd " P ", " Q ", [r0], #32\n" NNCC_MORE( \
            "r11", "r5", "r7", "t") "ldrd " P ", " Q ", [r0], #32\n" NNCC_MORE("r11", "r6", "r8", "b") NNCC_TWO \
        "strb r10, [r1]\n strb r11, [r1, r9]\n add r1, r1, r9, lsl #1\n" NNCC_AGAIN( \
            P, Q) "ldrd r11, r10, [sp]\n cmp r0, r10\n bne 2b\n" \
                  "ldr r10, [sp, #32]\n cmp r10, #0\n beq 4f\n" NNCC_COLUMN( \
                      "r10", "r11", "r4", "r7", \
                      "b") "ldrd " P ", " Q \
                           ", [r0]\n" NNCC_MORE("r10", "r5", "r7", "t") "ldrd " P ", " Q ", [r0, #32]\n" NNCC_MORE( \
                               "r10", "r6", "r8", "b") NNCC_ONE \
        "strb r10, [r1]\n" \
        "4:\n" \
        "ldrd r0, r1, [sp, #12]\n ldr r2, [sp, #24]\n adds r0, #8\n adds r1, #1\n strd r0, r1, [sp, #12]\n" \
        "cmp r0, r2\n bne.w 1b\n" \
        "add sp, #36\n pop {r4-r11, pc}\n"

/* The function's body: the upper pair of rows is the first word of each two (even) or the second one (odd). */
#define NNCC_ROWS3_EVEN __asm volatile(NNCC_ROWS3_BY2("r2", "r3"))
#define NNCC_ROWS3_ODD __asm volatile(NNCC_ROWS3_BY2("r3", "r2"))

#else

/* A column of inputs for the sum s, and w2 in the half h of a word. */
#define NNCC_COLUMN(s, w01, h, w2) \
    do { \
        s = NNCC_SMLAD(first, w01, s); \
        s = NNCC_SMLAB##h(second, w2, s); \
    } while (0)
#define NNCC_LOAD(k) \
    do { \
        const int64_t two = nncc_dsp_load_two(from + 8 * (k)); \
\
        first = (int32_t)(odd != 0 ? two >> 32 : two); \
        second = (int32_t)(odd != 0 ? two : two >> 32); \
    } while (0)
#define NNCC_STORE(s) (*to = nncc_dsp_upper_signed(s, m, NNCC_ROWS_C(s, n, d)))

/* What Clang would keep on the stack it loads again, in pairs, for all outputs. */
#if defined(__clang__)
#define NNCC_ONCE(loads)
#define NNCC_EACH(loads) loads
#else
#define NNCC_ONCE(loads) loads
#define NNCC_EACH(loads)
#endif
#define NNCC_WEIGHTS \
    NNCC_DSP_LOAD_BOTH(w, w0, w1); \
    NNCC_DSP_LOAD_BOTH(w + 2, w2, below); \
    last = w[4]
#if NNCC_ROWS_RELU
#define NNCC_SCALES NNCC_DSP_LOAD_BOTH(w + 6, m, n)
#else
#define NNCC_SCALES \
    NNCC_DSP_LOAD_BOTH(w + 6, m, n); \
    d = w[8]
#endif

NNCC_INLINED void nncc_dsp_row_by2(const nncc_dsp_depthwise_3x3_row_params *p, const int32_t *x, int32_t odd,
                                   const int32_t *w, int8_t *y)
{
    for (int32_t c = 0; c < 4; c++) {
        const int32_t *from = x + 2 * c, *const end = from + 32 * (p->columns >> 1);
        const int32_t step = p->step;
        int8_t *to = y + c;
        int32_t w0, w1, w2, below, last, m, n, d = 0, s0, s1, first, second;

        NNCC_ONCE(NNCC_WEIGHTS; NNCC_SCALES;)
        while (from != end) {
            NNCC_EACH(NNCC_WEIGHTS;)
            s0 = w[5];
            s1 = s0;
            NNCC_LOAD(0);
            NNCC_COLUMN(s0, w0, B, below);
            NNCC_LOAD(1);
            NNCC_COLUMN(s0, w1, T, below);
            NNCC_LOAD(2);
            NNCC_COLUMN(s0, w2, B, last);
            NNCC_COLUMN(s1, w0, B, below);
            NNCC_LOAD(3);
            NNCC_COLUMN(s1, w1, T, below);
            NNCC_LOAD(4);
            NNCC_COLUMN(s1, w2, B, last);
            from += 32;
            NNCC_EACH(NNCC_SCALES;)
            NNCC_STORE(s0);
            to += step;
            NNCC_STORE(s1);
            to += step;
        }
        if ((p->columns & 1) != 0) {
            NNCC_EACH(NNCC_WEIGHTS;)
            s0 = w[5];
            NNCC_LOAD(0);
            NNCC_COLUMN(s0, w0, B, below);
            NNCC_LOAD(1);
            NNCC_COLUMN(s0, w1, T, below);
            NNCC_LOAD(2);
            NNCC_COLUMN(s0, w2, B, last);
            NNCC_EACH(NNCC_SCALES;)
            NNCC_STORE(s0);
        }
        w += 9 - NNCC_ROWS_RELU;
    }
}

#define NNCC_ROWS3_EVEN nncc_dsp_row_by2(p, x, 0, w, y)
#define NNCC_ROWS3_ODD nncc_dsp_row_by2(p, x, 1, w, y)

#endif

#endif /* NNCC_DSP_DEPTHWISE_3X3_STRIDE2_H */
