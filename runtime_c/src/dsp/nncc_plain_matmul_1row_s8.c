/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_plain_matmul_1row_s8: one pixel by four channels without the DSP extension, inputs read as they are.
 *
 * Thumb-2: an input is 5 LDRSB and 4 MLA for 4 MACs: per MAC 1.25 loads, 1 MAC, no others. Thumb-1: 5 LDRB, 5 SXTB, 4
 * MULS and 4 ADDS: per MAC 1.25 loads, 1 multiplication, 2.25 others. The loop holds eight inputs and is entered where
 * the first round is short.
 */
#include "nncc_plain_core.h"

#if NNCC_PLAIN_ASM

#define NNCC_WEIGHT(a) "ldrsb r7, [r1], #1\n mla " a ", r6, r7, " a "\n"
#define NNCC_INPUT "ldrsb r6, [r0], #1\n" NNCC_WEIGHT("r2") NNCC_WEIGHT("r3") NNCC_WEIGHT("r4") NNCC_WEIGHT("r5")
#define NNCC_CHANNEL(a) "ldm r1!, {r6, r7, r8}\n" NNCC_PLAIN_OUTPUT(a, "r6", "r7", "r8", "r9", "r7")

/* r10 entry, r11 end of x, r12 groups left. Frame: 0 x, 4 y, 8 low, 12 bound. */
NNCC_DSP_NAKED void nncc_plain_matmul_1row_s8(NNCC_DSP_ARG const nncc_dsp_matmul_params *p, NNCC_DSP_ARG const void *x,
                                              NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    /* clang-format off */
    __asm volatile(".syntax unified\n"
                   "push {r4-r11, lr}\n"
                   "sub sp, #20\n"
                   "ldm r0, {r4-r9}\n"
                   NNCC_PLAIN_BOUND("r8", "r9")
                   "strd r1, r3, [sp]\n"
                   "strd r8, r9, [sp, #8]\n"
                   "add r11, r1, r5\n"
                   "mov r12, r4\n"
                   "mov r1, r2\n"
                   "rsb r5, r5, #0\n"
                   "and r5, r5, #7\n" /* inputs missing in the first round */
                   "movs r6, #36\n"
                   "adr r7, 2f\n"
                   "mla r5, r5, r6, r7\n"
                   "orr r10, r5, #1\n"
                   "1:\n"
                   "ldm r1!, {r2, r3, r4, r5}\n"
                   "ldr r0, [sp]\n"
                   "bx r10\n"
                   ".p2align 2\n"
                   "2:\n"
                   ".rept 8\n"
                   NNCC_INPUT
                   ".endr\n"
                   "cmp r0, r11\n"
                   "bne.w 2b\n"
                   NNCC_CHANNEL("r2") NNCC_CHANNEL("r3") NNCC_CHANNEL("r4") NNCC_CHANNEL("r5")
                   "ldrd r6, r7, [sp, #8]\n"
                   "ldr r0, [sp, #4]\n"
                   "cmp r7, #255\n"
                   "beq 3f\n"
                   NNCC_PLAIN_CLAMP("r2", "r7") NNCC_PLAIN_CLAMP("r3", "r7") NNCC_PLAIN_CLAMP("r4", "r7")
                   NNCC_PLAIN_CLAMP("r5", "r7")
                   "3:\n"
                   NNCC_PLAIN_LOW("r2", "r6") NNCC_PLAIN_LOW("r3", "r6") NNCC_PLAIN_LOW("r4", "r6")
                   NNCC_PLAIN_LOW("r5", "r6")
                   "strb r2, [r0], #1\n strb r3, [r0], #1\n strb r4, [r0], #1\n strb r5, [r0], #1\n"
                   "str r0, [sp, #4]\n"
                   "subs r12, r12, #1\n"
                   "bne.w 1b\n"
                   "add sp, #20\n"
                   "pop {r4-r11, pc}\n");
    /* clang-format on */
}

#elif NNCC_THUMB1_ASM

#define NNCC_WEIGHT(a, at) "ldrb r3, [r1, #4*\\i+" at "]\n sxtb r3, r3\n muls r3, r2\n adds " a ", " a ", r3\n"

/*
 * r4 to r7 are the sums; r8 end of x, r12 y, lr 0x8000. Inputs missing in the first round are skipped by its entry; x
 * and weights begin so much earlier. One or two lanes have a loop of their own. Frame: 0 x, 4 bound, 8 low, 12 entry,
 * 16 skipped bytes of weights, 20 groups left, 24 sums.
 */
NNCC_DSP_NAKED void nncc_plain_matmul_1row_s8(NNCC_DSP_ARG const nncc_dsp_matmul_params *p, NNCC_DSP_ARG const void *x,
                                              NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    /* clang-format off */
    __asm volatile(".syntax unified\n"
                   "push {r4-r7, lr}\n"
                   "mov r4, r8\n"
                   "push {r4}\n"
                   "sub sp, #40\n"
                   "mov r12, r3\n"
                   "ldm r0!, {r4-r7}\n"
                   "ldm r0!, {r6, r7}\n"
                   "ldr r0, [r0]\n mov lr, r0\n"
                   "uxtb r6, r6\n uxtb r7, r7\n movs r0, #255\n subs r7, r0, r7\n"
                   "str r7, [sp, #4]\n str r6, [sp, #8]\n str r4, [sp, #20]\n"
                   "adds r3, r1, r5\n mov r8, r3\n"
                   "rsbs r5, r5, #0\n movs r3, #7\n ands r5, r3\n"
                   "subs r1, r1, r5\n str r1, [sp]\n"
                   "lsls r3, r5, #2\n str r3, [sp, #16]\n"
                   "movs r3, #36\n muls r3, r5\n"
                   "adr r0, 2f\n adds r3, r3, r0\n"
                   "mov r0, lr\n cmp r0, #2\n"
                   "bhi 7f\n"
                   "movs r3, #20\n muls r3, r5\n"
                   "adr r0, 6f\n adds r3, r3, r0\n"
                   "7:\n"
                   "adds r3, #1\n str r3, [sp, #12]\n"
                   "movs r0, #128\n lsls r0, r0, #8\n mov lr, r0\n"
                   "mov r3, r2\n"
                   "1:\n" /* a group at r3 */
                   "ldm r3!, {r4-r7}\n"
                   "ldr r1, [sp, #16]\n subs r1, r3, r1\n"
                   "ldr r0, [sp]\n"
                   "ldr r2, [sp, #12]\n"
                   "bx r2\n"
                   ".p2align 2\n"
                   "2:\n"
                   ".irp i, 0, 1, 2, 3, 4, 5, 6, 7\n"
                   "ldrb r2, [r0, #\\i]\n sxtb r2, r2\n"
                   NNCC_WEIGHT("r4", "0") NNCC_WEIGHT("r5", "1") NNCC_WEIGHT("r6", "2") NNCC_WEIGHT("r7", "3")
                   ".endr\n"
                   "adds r0, #8\n"
                   "adds r1, #32\n"
                   "cmp r0, r8\n"
                   "beq 3f\n"
                   "b 2b\n"
                   "3:\n"
                   "add r2, sp, #24\n stm r2!, {r4-r7}\n subs r2, #16\n"
                   "mov r3, r1\n"
                   "4:\n"
                   "ldm r2!, {r6}\n"
                   NNCC_THUMB1_SCALE("r6")
                   NNCC_THUMB1_CLAMP("4")
                   "mov r1, r12\n strb r0, [r1]\n adds r1, #1\n mov r12, r1\n"
                   "add r1, sp, #40\n"
                   "cmp r2, r1\n"
                   "bne 4b\n"
                   "ldr r0, [sp, #20]\n subs r0, #1\n str r0, [sp, #20]\n"
                   "beq 5f\n"
                   "b 1b\n"
                   "5:\n"
                   "add sp, #40\n"
                   "pop {r4}\n"
                   "mov r8, r4\n"
                   "pop {r4-r7, pc}\n"
                   ".p2align 2\n"
                   "6:\n"
                   ".irp i, 0, 1, 2, 3, 4, 5, 6, 7\n"
                   "ldrb r2, [r0, #\\i]\n sxtb r2, r2\n"
                   NNCC_WEIGHT("r4", "0") NNCC_WEIGHT("r5", "1")
                   ".endr\n"
                   "adds r0, #8\n"
                   "adds r1, #32\n"
                   "cmp r0, r8\n"
                   "bne 6b\n"
                   "b 3b\n");
    /* clang-format on */
}

#else

void nncc_plain_matmul_1row_s8(const nncc_dsp_matmul_params *p, const void *x, const int32_t *w, int8_t *y)
{
    nncc_plain_products(p, x, 1, 0, w, y);
}

#endif
