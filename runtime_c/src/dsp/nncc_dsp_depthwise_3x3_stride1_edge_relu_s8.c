/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_3x3_stride1_edge_relu_s8: a row of a 3x3 depthwise convolution of which one row of the window is
 * padding, one channel after the other.
 */
#define NNCC_ROWS_RELU 1
#include "nncc_dsp_depthwise_3x3.h"

#if NNCC_DSP_ASM

/* The sum a of the columns r2, r3 and the next one, which takes r2's (r3's) place. */
#define NNCC_EDGE(a, u, v) \
    "smlad " a ", " u ", r5, r4\n smlad " a ", " v ", r7, " a "\n ldr " u ", [r0], #32\n" \
    "smlad " a ", " u ", r9, " a "\n" NNCC_OUTPUT_RELU(a, "r11", "r12")

/* r4 start, r5, r7, r9 weights of the columns, r6 step, r8 end of x, r11 m, r12 c. Frame: 0 x, 4 y, 8 w, 12 start, 16 x
 * behind the last channel, 20 bytes of whole pairs of columns, 24 an odd last column, 28 step. */
NNCC_DSP_NAKED void nncc_dsp_depthwise_3x3_stride1_edge_relu_s8(NNCC_DSP_ARG const nncc_dsp_depthwise_3x3_row_params *p,
                                                                NNCC_DSP_ARG const int32_t *x,
                                                                NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(".syntax unified\n"
                   "push {r4-r11, lr}\n"
                   "sub sp, #36\n"
                   "ldrd r4, r5, [r0]\n"
                   "lsrs r6, r4, #1\n"
                   "lsl r6, r6, #6\n"
                   "and r4, r4, #1\n"
                   "strd r6, r4, [sp, #20]\n"
                   "str r5, [sp, #28]\n"
                   "add r4, r2, #144\n"
                   "strd r2, r4, [sp, #8]\n"
                   "add r4, r1, #32\n"
                   "str r4, [sp, #16]\n"
                   "strd r1, r3, [sp]\n"
                   "1:\n"
                   "ldrd r2, r3, [sp, #8]\n"
                   "ldm r2!, {r4-r12}\n"
                   "ldr r4, [r3], #4\n"
                   "strd r2, r3, [sp, #8]\n"
                   "ldrd r0, r1, [sp]\n"
                   "ldr r8, [sp, #20]\n"
                   "ldr r6, [sp, #28]\n"
                   "ldr r3, [r0, #32]\n"
                   "ldr r2, [r0], #64\n"
                   "add r8, r8, r0\n"
                   "2:\n" NNCC_EDGE("r10", "r2", "r3")
                       NNCC_EDGE("lr", "r3", "r2") "strb r10, [r1]\n"
                                                   "strb lr, [r1, r6]\n"
                                                   "add r1, r1, r6, lsl #1\n"
                                                   "cmp r0, r8\n"
                                                   "bne 2b\n"
                                                   "ldr r10, [sp, #24]\n"
                                                   "cmp r10, #0\n"
                                                   "beq 4f\n" NNCC_EDGE("r10", "r2", "r3") "strb r10, [r1]\n"
                                                                                           "4:\n"
                                                                                           "ldrd r0, r1, [sp]\n"
                                                                                           "ldr r2, [sp, #16]\n"
                                                                                           "adds r0, #8\n"
                                                                                           "adds r1, #1\n"
                                                                                           "strd r0, r1, [sp]\n"
                                                                                           "cmp r0, r2\n"
                                                                                           "bne 1b\n"
                                                                                           "add sp, #36\n"
                                                                                           "pop {r4-r11, pc}\n");
}

#else

NNCC_DSP_IN_ORDER void nncc_dsp_depthwise_3x3_stride1_edge_relu_s8(const nncc_dsp_depthwise_3x3_row_params *p,
                                                                   const int32_t *x, const int32_t *w, int8_t *y)
{
    for (int32_t c = 0; c < 4; c++) {
        const int32_t w0 = w[9 * c + 1], w1 = w[9 * c + 3], w2 = w[9 * c + 5], m = w[9 * c + 7], n = w[9 * c + 8];
        const int32_t start = w[36 + c], step = p->step;
        const int32_t *from = x + 2 * c + 16;
        int8_t *to = y + c;
        int32_t a = from[-16], b = from[-8];

        for (int32_t i = p->columns; i > 0; i -= 2) {
            int32_t s = NNCC_SMLAD(b, w1, NNCC_SMLAD(a, w0, start));

            a = from[0];
            *to = nncc_dsp_upper_signed(NNCC_SMLAD(a, w2, s), m, n);
            if (i == 1) {
                break;
            }
            to += step;
            s = NNCC_SMLAD(a, w1, NNCC_SMLAD(b, w0, start));
            b = from[8];
            *to = nncc_dsp_upper_signed(NNCC_SMLAD(b, w2, s), m, n);
            to += step;
            from += 16;
        }
    }
}

#endif
