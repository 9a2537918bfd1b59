/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_window.h: the body of nncc_dsp_depthwise_window*_s8: two rows of outputs of a channel, two columns
 * at a time, whose windows have their inputs in common. An including file defines NNCC_WINDOW_RELU, 1 where negative
 * ties may be rounded up.
 *
 * Four words of inputs with the weights of both rows are 4 LDRD and 8 SMLAD for 16 products. Four outputs have 43
 * instructions more (relu 39).
 */
#ifndef NNCC_DSP_DEPTHWISE_WINDOW_H
#define NNCC_DSP_DEPTHWISE_WINDOW_H

#include "nncc_dsp_core.h"

#if NNCC_DSP_ASM

/* Inputs at r0 and r1, weights at r2: the sums of the upper row are r4 and r5, of the lower one r6 and r7. 48 bytes. */
#define NNCC_WINDOW_ROUND \
    "ldrd r8, r9, [r2], #8\n ldrd r10, r11, [r0], #8\n ldrd r12, lr, [r1], #8\n" \
    "smlad r4, r8, r10, r4\n smlad r5, r8, r12, r5\n smlad r4, r9, r11, r4\n smlad r5, r9, lr, r5\n" \
    "ldrd r8, r9, [r2], #8\n" \
    "smlad r6, r8, r10, r6\n smlad r7, r8, r12, r7\n smlad r6, r9, r11, r6\n smlad r7, r9, lr, r7\n"
#if NNCC_WINDOW_RELU
#define NNCC_WINDOW_OUTPUT(a) "smmlar " a ", " a ", r8, r9\n asr " a ", " a ", r10\n ssat " a ", #8, " a "\n"
#else
#define NNCC_WINDOW_OUTPUT(a) \
    "add r11, r9, " a ", asr #31\n smmlar " a ", " a ", r8, r11\n asr " a ", " a ", r10\n ssat " a ", #8, " a "\n"
#endif

/* The loop holds four rounds and is entered where the first turn is short. Frame: 0 x, 4 w, 8 y, 12 step, 16 pixel, 20
 * line, 24 columns, 28 turns, 32 entry. */
#define NNCC_WINDOW_ROWS \
    ".syntax unified\n" \
    "push {r4-r11, lr}\n sub sp, #36\n" \
    "ldm r0!, {r1-r7}\n stm sp, {r1-r7}\n ldr r1, [r0]\n" \
    "adds r2, r1, #3\n lsrs r2, r2, #2\n rsb r1, r1, #0\n and r1, r1, #3\n" /* rounds missing in the first turn */ \
    "movs r3, #48\n adr r4, 2f\n mla r1, r1, r3, r4\n orr r1, r1, #1\n strd r2, r1, [sp, #28]\n" \
    "1:\n" \
    "ldrd r0, r2, [sp]\n ldr r1, [sp, #12]\n add r3, r0, r1, lsl #1\n str r3, [sp]\n add r1, r1, r0\n" \
    "ldr r4, [r2], #16\n mov r5, r4\n mov r6, r4\n mov r7, r4\n ldrd r3, r8, [sp, #28]\n bx r8\n" \
    ".p2align 2\n" \
    "2:\n" \
    ".rept 4\n" NNCC_WINDOW_ROUND ".endr\n" \
    "subs r3, r3, #1\n bne.w 2b\n" \
    "ldr r0, [sp, #4]\n add r0, r0, #4\n ldm r0, {r8, r9, r10}\n" NNCC_WINDOW_OUTPUT("r4") NNCC_WINDOW_OUTPUT("r5") \
        NNCC_WINDOW_OUTPUT("r6") \
            NNCC_WINDOW_OUTPUT("r7") "ldrd r0, r1, [sp, #8]\n ldrd r1, r2, [sp, #16]\n ldr r3, [sp, #24]\n" \
                                     "strb r6, [r0, r2]\n strb r4, [r0]\n subs r3, r3, #2\n blt 3f\n add r0, r0, r1\n" \
                                     "strb r7, [r0, r2]\n strb r5, [r0]\n add r0, r0, r1\n str r0, [sp, #8]\n str " \
                                     "r3, [sp, #24]\n bne.w 1b\n" \
                                     "3:\n add sp, #36\n pop {r4-r11, pc}\n"

#else

static inline int8_t nncc_dsp_window_output(int32_t sum, int32_t m, int32_t c, int32_t s)
{
#if NNCC_WINDOW_RELU
    return nncc_dsp_nearest(nncc_dsp_rounded(sum, m, c, s));
#else
    return nncc_dsp_nearest(nncc_dsp_scaled(sum, m, c, s));
#endif
}

#define NNCC_WINDOW_ROUND(k) \
    do { \
        int32_t a0, b0, a1, b1, v0, v1; \
\
        NNCC_DSP_LOAD_BOTH(w + 4 * (k), v0, v1); \
        NNCC_DSP_LOAD_BOTH(x0 + 2 * (k), a0, b0); \
        NNCC_DSP_LOAD_BOTH(x1 + 2 * (k), a1, b1); \
        u0 = NNCC_SMLAD(a0, v0, u0); \
        u1 = NNCC_SMLAD(a1, v0, u1); \
        u0 = NNCC_SMLAD(b0, v1, u0); \
        u1 = NNCC_SMLAD(b1, v1, u1); \
        NNCC_DSP_LOAD_BOTH(w + 4 * (k) + 2, v0, v1); \
        l0 = NNCC_SMLAD(a0, v0, l0); \
        l1 = NNCC_SMLAD(a1, v0, l1); \
        l0 = NNCC_SMLAD(b0, v1, l0); \
        l1 = NNCC_SMLAD(b1, v1, l1); \
    } while (0)
#define NNCC_WINDOW_NEXT(k) \
    do { \
        x0 += 2 * (k); \
        x1 += 2 * (k); \
        w += 4 * (k); \
    } while (0)

/* The loop holds four rounds; what is missing to whole turns comes first. */
NNCC_INLINED void nncc_dsp_window_rows(const nncc_dsp_depthwise_window *f)
{
    const int32_t step = f->step, line = f->line, pixel = f->pixel, rounds = f->rounds;
    const int32_t *const start = f->w;
    const int32_t *volatile const end = start + 4 + 4 * rounds;
    uintptr_t x = (uintptr_t)f->x;
    int8_t *y = f->y;

    for (int32_t i = f->columns; i > 0; i -= 2) {
        const int32_t *x0 = (const int32_t *)x, *x1 = (const int32_t *)(x + (uint32_t)step), *w = start + 4;
        int32_t u0 = start[0], u1 = u0, l0 = u0, l1 = u0;
        int32_t m, c, s;

        if ((rounds & 1) != 0) {
            NNCC_WINDOW_ROUND(0);
            NNCC_WINDOW_NEXT(1);
        }
        if ((rounds & 2) != 0) {
            NNCC_WINDOW_ROUND(0);
            NNCC_WINDOW_ROUND(1);
            NNCC_WINDOW_NEXT(2);
        }
        while (w != end) {
            NNCC_WINDOW_ROUND(0);
            NNCC_WINDOW_ROUND(1);
            NNCC_WINDOW_ROUND(2);
            NNCC_WINDOW_ROUND(3);
            NNCC_WINDOW_NEXT(4);
        }
        m = start[1];
        c = start[2];
        s = start[3];
        y[line] = nncc_dsp_window_output(l0, m, c, s);
        *y = nncc_dsp_window_output(u0, m, c, s);
        if (i == 1) {
            break;
        }
        y += pixel;
        y[line] = nncc_dsp_window_output(l1, m, c, s);
        *y = nncc_dsp_window_output(u1, m, c, s);
        y += pixel;
        x += 2u * (uint32_t)step;
    }
}

#endif

#endif /* NNCC_DSP_DEPTHWISE_WINDOW_H */
