/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_depthwise_pixel.h: one pixel of a depthwise layer, four channels at a time, tap by tap, in assembly for
 * Thumb-2. */
#ifndef NNCC_DSP_DEPTHWISE_PIXEL_H
#define NNCC_DSP_DEPTHWISE_PIXEL_H

#include "nncc_dsp_core.h"

#if NNCC_PLAIN_ASM

/*
 * The function: a TAP of BYTES bytes adds to r4..r7 the products of the four bytes at r2 + *r0++ and of the weights at
 * r1; BOUND makes of r7 what STORE wants at sp + 12; STORE scales r4..r7 by 3 words each at r1, clamps and writes them
 * to *lr++. The loop holds four taps and is entered where the first round is short. r11 end of the offsets, r12 entry.
 * Frame: 0 offsets, 4 channel of the last group, 8 low, 12 bound.
 */
#define NNCC_TAPS(TAP, BYTES, BOUND, STORE) \
    ".syntax unified\n" \
    "push {r4-r11, lr}\n" \
    "ldr lr, [sp, #36]\n" \
    "sub sp, #20\n" \
    "ldm r0, {r4-r7}\n" BOUND "strd r6, r7, [sp, #8]\n" \
    "add r5, r5, r3\n" \
    "subs r5, #4\n" \
    "strd r1, r5, [sp]\n" \
    "add r11, r1, r4, lsl #2\n" \
    "rsb r4, r4, #0\n" \
    "and r4, r4, #3\n" /* taps missing in the first round */ \
    "movs r5, #" BYTES "\n" \
    "adr r6, 2f\n" \
    "mla r4, r4, r5, r6\n" \
    "orr r12, r4, #1\n" \
    "mov r1, r2\n" \
    "mov r2, r3\n" \
    "1:\n" \
    "ldr r0, [sp]\n" \
    "ldm r1!, {r4-r7}\n" \
    "bx r12\n" \
    ".p2align 2\n" \
    "2:\n" \
    ".rept 4\n" TAP ".endr\n" \
    "cmp r0, r11\n" \
    "bne 2b\n" STORE "ldr r8, [sp, #4]\n" \
    "adds r2, #4\n" \
    "cmp r2, r8\n" \
    "bls.w 1b\n" \
    "sub r3, r2, r8\n" /* 4, or less: the last group overlaps the one before */ \
    "cmp r3, #4\n" \
    "itt ne\n" \
    "subne lr, lr, r3\n" \
    "movne r2, r8\n" \
    "bne.w 1b\n" \
    "add sp, #20\n" \
    "pop {r4-r11, pc}\n"

#endif

#endif /* NNCC_DSP_DEPTHWISE_PIXEL_H */
