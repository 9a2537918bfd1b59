/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_matmul_1row.h: one pixel times packed weights, four output channels at a time, in assembly. Four sums, four
 * words of inputs and four of weights; the loop holds 32 inputs and is entered where the first round is short.
 */
#ifndef NNCC_DSP_MATMUL_1ROW_H
#define NNCC_DSP_MATMUL_1ROW_H

#include "nncc_dsp_core.h"

#if NNCC_DSP_ASM

/* 8 inputs by the narrow weights of 4 channels: r2 and r4 get sums, r3 and r5 256 times sums with those added. */
#define NNCC_NARROW_TWO(x, h0, h1) \
    "smlad r3, " x ", " h0 ", r3\n sxtb16 " h0 ", " h0 "\n smlad r2, " x ", " h0 ", r2\n" \
    "smlad r5, " x ", " h1 ", r5\n sxtb16 " h1 ", " h1 "\n smlad r4, " x ", " h1 ", r4\n"
#define NNCC_NARROW_EIGHT \
    "ldm r0!, {r6, r7, r8, r9}\n" \
    "ldm r1!, {r10, r11, r12, lr}\n" NNCC_NARROW_TWO("r6", "r10", "r11") \
        NNCC_NARROW_TWO("r7", "r12", "lr") "ldm r1!, {r10, r11, r12, lr}\n" NNCC_NARROW_TWO("r8", "r10", "r11") \
            NNCC_NARROW_TWO("r9", "r12", "lr")
#define NNCC_NARROW_COUNT "27"

#define NNCC_SCALE(a, up) \
    "ldm r1!, {r10, r11, r12}\n" up "add r11, r11, " a ", asr #31\n smmlar " a ", " a ", r10, r11\n asr " a ", " a \
    ", r12\n"

/*
 * The function: BEGIN before the groups, START for the sums of one, code of EIGHT inputs with COUNT instructions of
 * four bytes, weights of 2^SHIFT bytes a pair, PART before the sums are complete, C0 to C3 that double them. FRAME
 * bytes: 0 x, 4 end of x, 8 entry, 12 y, 16 end of w, 20 low, 24 cap.
 */
#define NNCC_MAT1(FRAME, BEGIN, START, EIGHT, COUNT, SHIFT, PART, C0, C1, C2, C3) \
    ".syntax unified\n" \
    "push {r4-r11, lr}\n" \
    "sub sp, #" FRAME "\n" \
    "ldm r0, {r4-r9}\n" \
    "add r10, r1, r5, lsl #2\n" \
    "strd r1, r10, [sp]\n" \
    "lsl r10, r5, #" SHIFT "\n" \
    "add r10, r10, #64\n" \
    "mla r10, r10, r4, r2\n" \
    "strd r3, r10, [sp, #12]\n" \
    "strd r8, r9, [sp, #20]\n" \
    "mov r1, r2\n" \
    "rsb r5, r5, #0\n" \
    "and r5, r5, #12\n" \
    "movs r6, #" COUNT "\n" \
    "adr.w r7, 2f + 1\n" \
    "mla r5, r5, r6, r7\n" \
    "str r5, [sp, #8]\n" BEGIN "1:\n" \
    "ldm r1!, {r2, r3, r4, r5}\n" START "ldr r0, [sp]\n" \
    "ldr r10, [sp, #8]\n" \
    "bx r10\n" \
    ".p2align 2\n" \
    "2:\n" \
    ".rept 4\n" EIGHT ".endr\n" \
    "ldr r10, [sp, #4]\n" \
    "cmp r0, r10\n" \
    "bne 2b\n" PART NNCC_SCALE("r2", C0("r2")) NNCC_SCALE("r3", C1("r3")) NNCC_SCALE("r4", C2("r4")) \
        NNCC_SCALE("r5", C3("r5")) "pkhbt r2, r2, r4, lsl #16\n" \
                                   "pkhbt r3, r3, r5, lsl #16\n" \
                                   "usat16 r2, #8, r2\n" \
                                   "usat16 r3, #8, r3\n" \
                                   "ldrd r6, r7, [sp, #20]\n" \
                                   "orr r2, r2, r3, lsl #8\n" \
                                   "uqadd8 r2, r2, r7\n" \
                                   "uqsub8 r2, r2, r7\n" \
                                   "uadd8 r2, r2, r6\n" \
                                   "ldrd r6, r7, [sp, #12]\n" \
                                   "str r2, [r6], #4\n" \
                                   "str r6, [sp, #12]\n" \
                                   "cmp r1, r7\n" \
                                   "bne.w 1b\n" \
                                   "add sp, #" FRAME "\n" \
                                   "pop {r4-r11, pc}\n"

#endif

#endif /* NNCC_DSP_MATMUL_1ROW_H */
