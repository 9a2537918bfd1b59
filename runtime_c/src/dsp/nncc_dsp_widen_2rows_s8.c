/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_widen_2rows_s8: bytes of two pixels side by side as int16. Eight values are 2 LDR, 4 SXTB16 and one STM of 4
 * words.
 */
#include "nncc_dsp_core.h"

#if NNCC_DSP_ASM

#define NNCC_WORD \
    "ldr r4, [r0], #4\n ldr r5, [r1], #4\n sxtb16 r6, r4, ror #8\n sxtb16 r7, r5, ror #8\n" \
    "sxtb16 r4, r4\n sxtb16 r5, r5\n stm r3!, {r4-r7}\n"

NNCC_DSP_NAKED int32_t *nncc_dsp_widen_2rows_s8(NNCC_DSP_ARG const int8_t *a, NNCC_DSP_ARG const int8_t *b,
                                                NNCC_DSP_ARG int32_t n, NNCC_DSP_ARG int32_t *x)
{
    __asm volatile(".syntax unified\n"
                   "push {r4-r7}\n"
                   "lsls r12, r2, #29\n"
                   "bpl 1f\n" NNCC_WORD "1: lsls r12, r2, #28\n"
                   "bpl 2f\n" NNCC_WORD NNCC_WORD "2: lsrs r12, r2, #4\n"
                   "beq 4f\n"
                   "3:\n" NNCC_WORD NNCC_WORD NNCC_WORD NNCC_WORD "subs r12, r12, #1\n"
                   "bne 3b\n"
                   "4: ands r2, r2, #3\n"
                   "beq 7f\n"
                   "ldrsb r4, [r0]\n"
                   "ldrsb r5, [r1]\n"
                   "cmp r2, #2\n"
                   "blt 6f\n"
                   "ldrsb r6, [r0, #1]\n"
                   "ldrsb r7, [r1, #1]\n"
                   "bne 5f\n"
                   "pkhbt r4, r4, r6, lsl #16\n"
                   "pkhbt r5, r5, r7, lsl #16\n"
                   "stm r3!, {r4, r5}\n"
                   "b 7f\n"
                   "5:\n"
                   "ldrsb r12, [r0, #2]\n"
                   "ldrsb r2, [r1, #2]\n"
                   "pkhbt r4, r4, r12, lsl #16\n"
                   "pkhbt r5, r5, r2, lsl #16\n"
                   "uxth r6, r6\n"
                   "uxth r7, r7\n"
                   "stm r3!, {r4-r7}\n"
                   "b 7f\n"
                   "6:\n"
                   "uxth r4, r4\n"
                   "uxth r5, r5\n"
                   "stm r3!, {r4, r5}\n"
                   "7:\n"
                   "mov r0, r3\n"
                   "pop {r4-r7}\n"
                   "bx lr\n");
}

#else

int32_t *nncc_dsp_widen_2rows_s8(const int8_t *a, const int8_t *b, int32_t n, int32_t *x)
{
    for (; n >= 4; n -= 4) {
#if NNCC_DSP_ACLE
        const int32_t u = nncc_dsp_load4(a), v = nncc_dsp_load4(b);

        x[0] = nncc_dsp_even(u);
        x[1] = nncc_dsp_even(v);
        x[2] = nncc_dsp_odd(u);
        x[3] = nncc_dsp_odd(v);
        x += 4;
#else
        *x++ = nncc_dsp_pair(a[0], a[2]);
        *x++ = nncc_dsp_pair(b[0], b[2]);
        *x++ = nncc_dsp_pair(a[1], a[3]);
        *x++ = nncc_dsp_pair(b[1], b[3]);
#endif
        a += 4;
        b += 4;
    }
    if (n == 3) {
        *x++ = nncc_dsp_pair(a[0], a[2]);
        *x++ = nncc_dsp_pair(b[0], b[2]);
        *x++ = nncc_dsp_pair(a[1], 0);
        *x++ = nncc_dsp_pair(b[1], 0);
    } else if (n > 0) {
        *x++ = nncc_dsp_pair(a[0], n > 1 ? a[1] : 0);
        *x++ = nncc_dsp_pair(b[0], n > 1 ? b[1] : 0);
    }
    return x;
}

#endif
