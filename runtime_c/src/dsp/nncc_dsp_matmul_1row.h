/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_matmul_1row.h: one pixel times narrow weights, four output channels at a time, in assembly. Four sums, four
 * words of inputs and four of weights fill the registers.
 */
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

#endif
