/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_matmul_1row_w4_s8: one pixel times weights of 4 bits, four of them in half a word. 8 inputs are 2 LDM, 12
 * masks and 16 SMLAD for 32 MACs: per MAC 0.25 words loaded by 0.06 instructions, 0.5 MACs, 0.38 others.
 */
#include "nncc_dsp_matmul_1row.h"

#if NNCC_DSP_ASM

/* The sum of a channel comes out with those of the channels below it. */
#define NNCC_FOURS_TWO(x, w) \
    "smlad r5, " x ", " w ", r5\n bic " w ", " w ", #0xf000f000\n smlad r4, " x ", " w ", r4\n" \
    "bic " w ", " w ", #0x0f000f00\n smlad r3, " x ", " w ", r3\n" \
    "bic " w ", " w ", #0x00f000f0\n smlad r2, " x ", " w ", r2\n"
#define NNCC_FOURS_EIGHT \
    "ldm r0!, {r6, r7, r8, r9}\n ldm r1!, {r10, r11, r12, lr}\n" NNCC_FOURS_TWO("r6", "r10") \
        NNCC_FOURS_TWO("r7", "r11") NNCC_FOURS_TWO("r8", "r12") NNCC_FOURS_TWO("r9", "lr")
/* Weights of three channels are 8 too large: 8 times the sum of the inputs, and 17 and 273 times that. */
#define NNCC_BEGIN \
    "ldrd r0, r7, [sp]\n" \
    "movs r2, #0\n" \
    "mov r12, #0x00010001\n" \
    "6:\n" \
    "ldm r0!, {r3, r4, r5, r6}\n" \
    "smlad r2, r3, r12, r2\n smlad r2, r4, r12, r2\n smlad r2, r5, r12, r2\n smlad r2, r6, r12, r2\n" \
    "cmp r0, r7\n" \
    "bne 6b\n" \
    "lsl r3, r2, #3\n" \
    "add r4, r3, r3, lsl #4\n" \
    "add r5, r4, r3, lsl #8\n" \
    "strd r3, r4, [sp, #28]\n" \
    "str r5, [sp, #36]\n"
#define NNCC_START \
    "ldrd r6, r7, [sp, #28]\n" \
    "ldr r8, [sp, #36]\n" \
    "sub r2, r2, r6\n sub r3, r3, r7\n sub r4, r4, r8\n sub r5, r5, r8\n"
#define NNCC_PART "sub r5, r5, r4\n sub r4, r4, r3\n sub r3, r3, r2\n"
#define NNCC_0(a) "lsl " a ", " a ", #1\n"
#define NNCC_1(a) "asr " a ", " a ", #3\n"
#define NNCC_2(a) "asr " a ", " a ", #7\n"
#define NNCC_3(a) "asr " a ", " a ", #11\n"

NNCC_DSP_NAKED void nncc_dsp_matmul_1row_w4_s8(NNCC_DSP_ARG const nncc_dsp_matmul_params *p, NNCC_DSP_ARG const void *x,
                                               NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(NNCC_MAT1("44", NNCC_BEGIN, NNCC_START, NNCC_FOURS_EIGHT, "30", "2", NNCC_PART, NNCC_0, NNCC_1,
                             NNCC_2, NNCC_3));
}

#else

NNCC_DSP_AS_WRITTEN void nncc_dsp_matmul_1row_w4_s8(const nncc_dsp_matmul_params *p, const void *x, const int32_t *w,
                                                    int8_t *y)
{
    nncc_dsp_products(p, x, 1, NNCC_DSP_FOURS, 0, w, y);
}

#endif
