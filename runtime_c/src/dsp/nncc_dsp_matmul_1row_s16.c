/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_matmul_1row_s16: one pixel of int16 times weights of 8 bits, four channels at a time. */
#include "nncc_dsp_matmul_s16.h"

#if NNCC_DSP_ASM

#define NNCC_TWO16(a, b, x, w) \
    "sxtb16 r12, " w "\n smlad " a ", " x ", r12, " a "\n sxtb16 " w ", " w ", ror #8\n smlad " b ", " x ", " w ", " b \
    "\n"
#define NNCC_FOUR16 \
    "ldrd r6, r7, [r0], #8\n ldm r1!, {r8, r9, r10, r11}\n" NNCC_TWO16("r2", "r3", "r6", "r8") \
        NNCC_TWO16("r4", "r5", "r6", "r9") NNCC_TWO16("r2", "r3", "r7", "r10") NNCC_TWO16("r4", "r5", "r7", "r11")
#define NNCC_SHIFTED16(r) "ldm r1!, {r8, r9, r10}\n smmla " r ", " r ", r8, r9\n asr " r ", " r ", r10\n"
#define NNCC_CLAMP16(r) "ssub16 r12, " r ", r8\n sel " r ", " r ", r8\n ssub16 r12, r9, " r "\n sel " r ", " r ", r9\n"

/* Frame: 0 x, 4 end of x, 8 entry, 12 end of w, 16 low, 20 high; lr is y. */
NNCC_DSP_NAKED void nncc_dsp_matmul_1row_s16(NNCC_DSP_ARG const nncc_dsp_matmul16_params *p,
                                             NNCC_DSP_ARG const int32_t *x, NNCC_DSP_ARG const int32_t *w,
                                             NNCC_DSP_ARG int8_t *y)
{
    /* clang-format off */
    __asm volatile(".syntax unified\n"
                   "push {r4-r11, lr}\n"
                   "sub sp, #28\n"
                   "ldm r0, {r4, r5, r6, r7, r8}\n" /* groups, pairs, y_step, act_min, act_max */
                   "mov lr, r3\n"
                   "add r10, r1, r5, lsl #2\n"
                   "strd r1, r10, [sp]\n"
                   "lsl r10, r5, #3\n"
                   "add r10, r10, #64\n"
                   "mla r10, r10, r4, r2\n"
                   "str r10, [sp, #12]\n"
                   "pkhbt r7, r7, r7, lsl #16\n"
                   "pkhbt r8, r8, r8, lsl #16\n"
                   "strd r7, r8, [sp, #16]\n"
                   "mov r1, r2\n"
                   "rsb r5, r5, #0\n"
                   "and r5, r5, #6\n"
                   "movs r6, #36\n"
                   "adr r7, 2f\n"
                   "mla r5, r5, r6, r7\n"
                   "orr r5, r5, #1\n"
                   "str r5, [sp, #8]\n"
                   "1:\n"
                   "ldm r1!, {r2, r3, r4, r5}\n"
                   "ldr r0, [sp]\n"
                   "ldr r10, [sp, #8]\n"
                   "bx r10\n"
                   ".p2align 2\n"
                   "2:\n"
                   ".rept 4\n" NNCC_FOUR16 ".endr\n"
                   "ldr r10, [sp, #4]\n"
                   "cmp r0, r10\n"
                   "bne.w 2b\n"
                   NNCC_SHIFTED16("r2") NNCC_SHIFTED16("r3") NNCC_SHIFTED16("r4") NNCC_SHIFTED16("r5")
                   "ssat r2, #16, r2\n ssat r3, #16, r3\n ssat r4, #16, r4\n ssat r5, #16, r5\n"
                   "pkhbt r2, r2, r3, lsl #16\n"
                   "pkhbt r4, r4, r5, lsl #16\n"
                   "ldrd r8, r9, [sp, #16]\n"
                   NNCC_CLAMP16("r2") NNCC_CLAMP16("r4")
                   "str r2, [lr], #4\n"
                   "str r4, [lr], #4\n"
                   "ldr r10, [sp, #12]\n"
                   "cmp r1, r10\n"
                   "bne.w 1b\n"
                   "add sp, #28\n"
                   "pop {r4-r11, pc}\n");
    /* clang-format on */
}

#else

/* Two channels: every other word of weights is theirs. */
static void nncc_two_channels16(const nncc_dsp_matmul16_params *p, const int32_t *x, const int32_t *w, int32_t a,
                                int32_t b, const int32_t *m, int8_t *y)
{
    for (int32_t k = 0; k < p->pairs; k++) {
        const int32_t u = x[k], v = w[2 * k];

        NNCC_ADD_TWO0(a, u, v);
        NNCC_ADD_TWO1(b, u, v);
    }
    nncc_plain_store16(nncc_plain_down16(a, m), p->act_min, p->act_max, y);
    nncc_plain_store16(nncc_plain_down16(b, m + 3), p->act_min, p->act_max, y + 2);
}

void nncc_dsp_matmul_1row_s16(const nncc_dsp_matmul16_params *p, const int32_t *x, const int32_t *w, int8_t *y)
{
    for (int32_t g = 0; g < p->groups; g++) {
        const int32_t *const m = w + 4 + 2 * p->pairs;

        nncc_two_channels16(p, x, w + 4, w[0], w[1], m, y);
        nncc_two_channels16(p, x, w + 5, w[2], w[3], m + 6, y + 4);
        w = m + 12;
        y += 8;
    }
}

#endif
