/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_matmul_2rows.h: two pixels times packed weights, four output channels at a time, in assembly.
 *
 * Eight sums, two words of inputs and two of weights fill the registers; the end of x is in the stack frame. The
 * loop holds 16 pairs and is entered where the first round is short. A group adds about 70 instructions for its 8
 * outputs (16 words loaded, 2 stored).
 */
#ifndef NNCC_DSP_MATMUL_2ROWS_H
#define NNCC_DSP_MATMUL_2ROWS_H

#include "nncc_dsp_core.h"

#if NNCC_DSP_ASM

/* One channel of both pixels: r10, r11, r12 become m, c, s; "up" makes twice the accumulator of the register. */
/* clang-format off */
#define NNCC_SIGNED(a, b, up) \
    "ldm r1!, {r10, r11, r12}\n" \
    up(a) \
    "add lr, r11, " a ", asr #31\n smmlar " a ", " a ", r10, lr\n asr " a ", " a ", r12\n" \
    up(b) \
    "add lr, r11, " b ", asr #31\n smmlar " b ", " b ", r10, lr\n asr " b ", " b ", r12\n"
#define NNCC_POSITIVE(a, b, up) \
    "ldm r1!, {r10, r11, r12}\n" \
    up(a) \
    "smmlar " a ", " a ", r10, r11\n asr " a ", " a ", r12\n" \
    up(b) \
    "smmlar " b ", " b ", r10, r11\n asr " b ", " b ", r12\n"
/* clang-format on */
/* Four outputs in a, b, c, d become bytes of a, 0 to 255. */
#define NNCC_PACK(a, b, c, d) \
    "pkhbt " a ", " a ", " c ", lsl #16\n pkhbt " b ", " b ", " d ", lsl #16\n" \
    "usat16 " a ", #8, " a "\n usat16 " b ", #8, " b "\n orr " a ", " a ", " b ", lsl #8\n"

/*
 * A pair of inputs and narrow weights: 2 LDRD, 2 SXTB16 and 8 SMLAD for 16 MACs, per MAC 0.25 words loaded, 0.5 MACs,
 * 0.13 others.
 */
#define NNCC_NARROW_PAIR \
    "ldrd r10, r11, [r0], #8\n" \
    "ldrd r12, lr, [r1], #8\n" \
    "smlad r4, r10, r12, r4\n" \
    "smlad r5, r11, r12, r5\n" \
    "sxtb16 r12, r12\n" \
    "smlad r2, r10, r12, r2\n" \
    "smlad r3, r11, r12, r3\n" \
    "smlad r8, r10, lr, r8\n" \
    "smlad r9, r11, lr, r9\n" \
    "sxtb16 lr, lr\n" \
    "smlad r6, r10, lr, r6\n" \
    "smlad r7, r11, lr, r7\n"

/* The last channel of the first pixel goes on in r0, which has shorter instructions. */
#define NNCC_NARROW_PART "subs r4, r4, r2\n subs r5, r5, r3\n sub r0, r8, r6\n subs r9, r9, r7\n"
#define NNCC_NARROW_EVEN(a) "lsls " a ", " a ", #1\n"
#define NNCC_NARROW_ODD(a) "asrs " a ", " a ", #7\n"
#define NNCC_MAT2_NARROW(STORE) \
    NNCC_MAT2("44", "", NNCC_MAT2_START, NNCC_NARROW_PAIR, "48", "3", NNCC_NARROW_PART, \
              STORE(NNCC_NARROW_EVEN, NNCC_NARROW_ODD, NNCC_NARROW_EVEN, NNCC_NARROW_ODD, "r0"), \
              STORE##_REST(NNCC_NARROW_EVEN, NNCC_NARROW_ODD, NNCC_NARROW_EVEN, NNCC_NARROW_ODD, "r0"))

/* And wide weights: 3 LDRD and 8 SMLAD, per MAC 0.38 words loaded, 0.5 MACs, no others. */
#define NNCC_WIDE_PAIR \
    "ldrd r10, r11, [r0], #8\n" \
    "ldrd r12, lr, [r1], #8\n" \
    "smlad r2, r10, r12, r2\n" \
    "smlad r3, r11, r12, r3\n" \
    "smlad r4, r10, lr, r4\n" \
    "smlad r5, r11, lr, r5\n" \
    "ldrd r12, lr, [r1], #8\n" \
    "smlad r6, r10, r12, r6\n" \
    "smlad r7, r11, r12, r7\n" \
    "smlad r8, r10, lr, r8\n" \
    "smlad r9, r11, lr, r9\n"
#define NNCC_WIDE_KEEP(a)
#define NNCC_MAT2_WIDE(STORE) \
    NNCC_MAT2("44", "", NNCC_MAT2_START, NNCC_WIDE_PAIR, "44", "4", "", \
              STORE(NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, "r8"), \
              STORE##_REST(NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, "r8"))

/* Four weights of 4 bits in half a word: 2 loads, 3 masks and 8 SMLAD, per MAC 0.19 words loaded, 0.5 MACs, 0.19
 * others. The sum of a channel comes out with those of the channels below it. */
#define NNCC_FOURS_PAIR \
    "ldrd r10, r11, [r0], #8\n" \
    "ldr r12, [r1], #4\n" \
    "smlad r8, r10, r12, r8\n" \
    "smlad r9, r11, r12, r9\n" \
    "bic lr, r12, #0xf000f000\n" \
    "smlad r6, r10, lr, r6\n" \
    "smlad r7, r11, lr, r7\n" \
    "uxtb16 lr, r12\n" \
    "smlad r4, r10, lr, r4\n" \
    "smlad r5, r11, lr, r5\n" \
    "and lr, r12, #0x000f000f\n" \
    "smlad r2, r10, lr, r2\n" \
    "smlad r3, r11, lr, r3\n"
/* Weights of three channels are 8 too large: 8 times the sum of a pixel's inputs, and 17 and 273 times that. */
#define NNCC_FOURS_BEGIN \
    "ldr r6, [sp]\n" \
    "ldr r7, [sp, #8]\n" \
    "movs r2, #0\n" \
    "movs r3, #0\n" \
    "mov r12, #0x00010001\n" \
    "6:\n" \
    "ldrd r4, r5, [r6], #8\n" \
    "smlad r2, r4, r12, r2\n" \
    "smlad r3, r5, r12, r3\n" \
    "cmp r6, r7\n" \
    "bne 6b\n" \
    "lsl r2, r2, #3\n" \
    "lsl r3, r3, #3\n" \
    "add r4, r2, r2, lsl #4\n" \
    "add r5, r3, r3, lsl #4\n" \
    "add r6, r4, r2, lsl #8\n" \
    "add r7, r5, r3, lsl #8\n" \
    "strd r2, r3, [sp, #44]\n" \
    "strd r4, r5, [sp, #52]\n" \
    "strd r6, r7, [sp, #60]\n"
#define NNCC_FOURS_START \
    "ldrd r10, r11, [sp, #44]\n" \
    "sub r3, r2, r11\n" \
    "sub r2, r2, r10\n" \
    "ldrd r10, r11, [sp, #52]\n" \
    "sub r5, r4, r11\n" \
    "sub r4, r4, r10\n" \
    "ldrd r10, r11, [sp, #60]\n" \
    "sub r7, r6, r11\n" \
    "sub r6, r6, r10\n" \
    "sub r9, r8, r11\n" \
    "sub r8, r8, r10\n"
#define NNCC_FOURS_PART \
    "subs r8, r8, r6\n subs r9, r9, r7\n subs r6, r6, r4\n subs r7, r7, r5\n subs r4, r4, r2\n subs r5, r5, r3\n"
#define NNCC_FOURS_0(a) "lsls " a ", " a ", #1\n"
#define NNCC_FOURS_1(a) "asrs " a ", " a ", #3\n"
#define NNCC_FOURS_2(a) "asrs " a ", " a ", #7\n"
#define NNCC_FOURS_3(a) "asrs " a ", " a ", #11\n"
#define NNCC_MAT2_FOURS(STORE) \
    NNCC_MAT2("68", NNCC_FOURS_BEGIN, NNCC_FOURS_START, NNCC_FOURS_PAIR, "52", "2", NNCC_FOURS_PART, \
              STORE(NNCC_FOURS_0, NNCC_FOURS_1, NNCC_FOURS_2, NNCC_FOURS_3, "r8"), \
              STORE##_REST(NNCC_FOURS_0, NNCC_FOURS_1, NNCC_FOURS_2, NNCC_FOURS_3, "r8"))

/* The start values of the second pixel are those of the first one. */
#define NNCC_MAT2_START "mov r3, r2\n mov r5, r4\n mov r7, r6\n mov r9, r8\n"

/* Several groups of channels: a word behind the start values says how many bytes the inputs move on before them. */
#define NNCC_GROUPS_BEGIN "ldr r10, [sp, #20]\n add r10, r10, r4, lsl #2\n str r10, [sp, #20]\n"
#define NNCC_GROUPS_START \
    NNCC_MAT2_START "ldr r11, [r1], #4\n ldr r0, [sp]\n ldr r10, [sp, #8]\n" \
                    "add r0, r0, r11\n add r10, r10, r11\n str r0, [sp]\n str r10, [sp, #8]\n"
#define NNCC_MAT2_NARROW_GROUPS(STORE) \
    NNCC_MAT2("44", NNCC_GROUPS_BEGIN, NNCC_GROUPS_START, NNCC_NARROW_PAIR, "48", "3", NNCC_NARROW_PART, \
              STORE(NNCC_NARROW_EVEN, NNCC_NARROW_ODD, NNCC_NARROW_EVEN, NNCC_NARROW_ODD, "r0"), \
              STORE##_REST(NNCC_NARROW_EVEN, NNCC_NARROW_ODD, NNCC_NARROW_EVEN, NNCC_NARROW_ODD, "r0"))
#define NNCC_MAT2_WIDE_GROUPS(STORE) \
    NNCC_MAT2("44", NNCC_GROUPS_BEGIN, NNCC_GROUPS_START, NNCC_WIDE_PAIR, "44", "4", "", \
              STORE(NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, "r8"), \
              STORE##_REST(NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, NNCC_WIDE_KEEP, "r8"))

/*
 * The function: BEGIN before the groups, START for the sums of one, code of a PAIR of BYTES bytes, weights of 2^SHIFT
 * bytes a pair, PART before the sums are complete, STORE with the epilogue 5 for the sums and what follows it in the
 * loop 1, REST with the epilogue 3, without sign correction. FRAME bytes: 0 x, 4 entry, 8 end of x, 12 y, 16 y_step, 20
 * end of w, 24 epilogue, 28 low - cap, 32 cap, 36 table.
 *
 * With narrow weights and words for results the loop 1 begins 2 bytes into a line of 32 and has 1022 bytes: a cache of
 * 1 KiB holds it. With a line more, one that forgets what it used least of late would never have the line that is next.
 */
#define NNCC_MAT2(FRAME, BEGIN, START, PAIR, BYTES, SHIFT, PART, STORE, REST) \
    ".syntax unified\n" \
    ".p2align 5\n" \
    "push {r4-r11, lr}\n" \
    "sub sp, #" FRAME "\n" \
    "ldm r0, {r4-r9}\n" \
    "ldr r11, [r0, #28]\n" \
    "str r11, [sp, #36]\n" \
    "add r11, r1, r5, lsl #3\n" \
    "str r1, [sp]\n" \
    "str r11, [sp, #8]\n" \
    "lsl r10, r5, #" SHIFT "\n" \
    "add r10, r10, #64\n" \
    "mla r10, r10, r4, r2\n" \
    "str r3, [sp, #12]\n" \
    "str r6, [sp, #16]\n" \
    "str r10, [sp, #20]\n" \
    "usub8 r8, r8, r9\n" \
    "strd r8, r9, [sp, #28]\n" \
    "mov r1, r2\n" \
    "rsbs r5, r5, #0\n" \
    "and r5, r5, #15\n" \
    "movs r6, #" BYTES "\n" \
    "adr r12, 2f\n" \
    "mla r5, r5, r6, r12\n" \
    "orr r5, r5, #1\n" \
    "str r5, [sp, #4]\n" \
    "adr.w r5, 5f\n" \
    "cmp r7, #0\n" \
    "it ne\n" \
    "adrne r5, 3f\n" \
    "orr r5, r5, #1\n" \
    "str r5, [sp, #24]\n" BEGIN "1:\n" \
    "ldm r1!, {r2, r4, r6, r8}\n" START "ldr r0, [sp]\n" \
    "ldr pc, [sp, #4]\n" \
    ".p2align 2\n" \
    "2:\n" \
    ".rept 16\n" PAIR ".endr\n" \
    "ldr r10, [sp, #8]\n" \
    "cmp r0, r10\n" \
    "bne 2b\n" PART "ldr pc, [sp, #24]\n" STORE "bne.w 1b\n" \
    "add sp, #" FRAME "\n" \
    "pop {r4-r11, pc}\n" REST

/* Scaled, clamped and stored as words; C0 to C3 make twice the sums of the channels; LAST has
 * that of the last one of the first pixel. */
/* clang-format off */
#define NNCC_MAT2_CLAMP(C0, C1, C2, C3, LAST) \
    "5:\n" \
    NNCC_SIGNED("r2", "r3", C0) NNCC_SIGNED("r4", "r5", C1) NNCC_SIGNED("r6", "r7", C2) \
    NNCC_SIGNED(LAST, "r9", C3) \
    NNCC_PACK("r2", "r4", "r6", LAST) NNCC_PACK("r3", "r5", "r7", "r9") \
    "ldrd r10, r11, [sp, #28]\n" \
    "uqadd8 r2, r2, r11\n" \
    "uqadd8 r3, r3, r11\n" \
    "uadd8 r2, r2, r10\n" \
    "uadd8 r3, r3, r10\n" \
    "4:\n" \
    "ldrd r0, r4, [sp, #12]\n" \
    "ldr r5, [sp, #20]\n" \
    "str r3, [r0, r4]\n" \
    "str r2, [r0], #4\n" \
    "str r0, [sp, #12]\n" \
    "cmp r1, r5\n"
#define NNCC_MAT2_CLAMP_REST(C0, C1, C2, C3, LAST) \
    ".p2align 2\n" \
    "3:\n" \
    NNCC_POSITIVE("r2", "r3", C0) NNCC_POSITIVE("r4", "r5", C1) NNCC_POSITIVE("r6", "r7", C2) \
    NNCC_POSITIVE(LAST, "r9", C3) \
    NNCC_PACK("r2", "r4", "r6", LAST) NNCC_PACK("r3", "r5", "r7", "r9") \
    "eor r2, r2, #0x80808080\n" \
    "eor r3, r3, #0x80808080\n" \
    "b 4b\n"
/* clang-format on */

/* Four bytes of a by the table at r12 to y. */
#define NNCC_LOOK_UP(a, y) \
    "uxtb r4, " a "\n uxtb r5, " a ", ror #8\n uxtb r6, " a ", ror #16\n lsr r7, " a ", #24\n" \
    "ldrb r4, [r12, r4]\n ldrb r5, [r12, r5]\n ldrb r6, [r12, r6]\n ldrb r7, [r12, r7]\n" \
    "strb r4, [" y "], #1\n strb r5, [" y "], #1\n strb r6, [" y "], #1\n strb r7, [" y "], #1\n"
/* Scaled and stored by way of the table: 3 instructions an output. */
/* clang-format off */
#define NNCC_MAT2_TABLE(C0, C1, C2, C3, LAST) \
    ".p2align 2\n" \
    "3:\n" \
    "5:\n" \
    NNCC_SIGNED("r2", "r3", C0) NNCC_SIGNED("r4", "r5", C1) NNCC_SIGNED("r6", "r7", C2) \
    NNCC_SIGNED(LAST, "r9", C3) \
    NNCC_PACK("r2", "r4", "r6", LAST) NNCC_PACK("r3", "r5", "r7", "r9") \
    "ldrd r10, r11, [sp, #12]\n" \
    "ldr r12, [sp, #36]\n" \
    "add r11, r11, r10\n" \
    NNCC_LOOK_UP("r3", "r11") NNCC_LOOK_UP("r2", "r10") \
    "ldr r12, [sp, #20]\n" \
    "str r10, [sp, #12]\n" \
    "cmp r1, r12\n"
#define NNCC_MAT2_TABLE_REST(C0, C1, C2, C3, LAST)
/* clang-format on */

#endif

#endif /* NNCC_DSP_MATMUL_2ROWS_H */
