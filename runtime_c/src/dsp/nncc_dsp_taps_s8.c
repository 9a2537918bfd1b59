/*
 * nncc_dsp_taps_s8: one pixel, four channels at a time, tap by tap. A tap is 3 instructions that load 4 words, 2 SXTB16 and
 * 4 SMLAxy for 4 MACs: per MAC 1 word loaded, 1 MAC, 0.5 others. The loop holds four taps and is entered where the first
 * round is short; a group adds about 40 instructions for its 4 outputs.
 */
#include "nncc_dsp_core.h"

#if NNCC_DSP_ASM

#define NNCC_TAP                                                                                        \
    "ldr r3, [r0], #4\n ldrd r9, r10, [r1], #8\n ldr.w r3, [r2, r3]\n"                                  \
    "sxtb16 r8, r3\n sxtb16 r3, r3, ror #8\n"                                                           \
    "smlabb r4, r8, r9, r4\n smlatt r6, r8, r9, r6\n smlabb r5, r3, r10, r5\n smlatt r7, r3, r10, r7\n"
#define NNCC_CHANNEL(a)                                                                                 \
    "ldm r1!, {r8, r9, r10}\n add r9, r9, " a ", asr #31\n smmlar " a ", " a ", r8, r9\n asr " a ", " a ", r10\n"

/* Frame: 0 offsets, 4 entry, 8 y, 16 low, 20 cap, 24 groups left. */
NNCC_DSP_NAKED void nncc_dsp_taps_s8(NNCC_DSP_ARG const nncc_dsp_taps_params *p, NNCC_DSP_ARG const int32_t *offsets,
                                     NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG const int8_t *x, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldr r12, [sp, #36]\n"
        "sub sp, #28\n"
        "ldm r0, {r4-r7}\n"
        "str r12, [sp, #8]\n"
        "strd r6, r7, [sp, #16]\n"
        "str r5, [sp, #24]\n"
        "add r11, r1, r4, lsl #2\n"
        "rsb r4, r4, #0\n"
        "and r4, r4, #3\n" /* taps missing in the first round */
        "movs r5, #36\n"
        "adr r6, 2f\n"
        "mla r4, r4, r5, r6\n"
        "orr r4, r4, #1\n"
        "strd r1, r4, [sp]\n"
        "mov r1, r2\n"
        "mov r2, r3\n"
        "1:\n"
        "ldrd r0, r12, [sp]\n"
        "ldm r1!, {r4-r7}\n"
        "bx r12\n"
        ".p2align 2\n"
        "2:\n"
        ".rept 4\n" NNCC_TAP ".endr\n"
        "cmp r0, r11\n"
        "bne 2b\n"
        NNCC_CHANNEL("r4") NNCC_CHANNEL("r5") NNCC_CHANNEL("r6") NNCC_CHANNEL("r7")
        "pkhbt r4, r4, r6, lsl #16\n"
        "pkhbt r5, r5, r7, lsl #16\n"
        "usat16 r4, #8, r4\n"
        "usat16 r5, #8, r5\n"
        "ldrd r8, r9, [sp, #16]\n"
        "orr r4, r4, r5, lsl #8\n"
        "uqadd8 r4, r4, r9\n"
        "uqsub8 r4, r4, r9\n"
        "uadd8 r4, r4, r8\n"
        "ldr r10, [sp, #8]\n"
        "adds r2, #4\n"
        "str r4, [r10], #4\n"
        "str r10, [sp, #8]\n"
        "ldr r12, [sp, #24]\n"
        "subs r12, r12, #1\n"
        "str r12, [sp, #24]\n"
        "bne.w 1b\n"
        "add sp, #28\n"
        "pop {r4-r11, pc}\n");
}

#else

void nncc_dsp_taps_s8(const nncc_dsp_taps_params *p, const int32_t *offsets, const int32_t *w, const int8_t *x, int8_t *y)
{
    for (int32_t g = 0; g < p->groups; g++) {
        const int32_t *const taps = w + 4;
        const int32_t *const mcs = taps + 2 * p->taps;

        for (int32_t c = 0; c < 4; c++) {
            int32_t sum = w[c];

            for (int32_t t = 0; t < p->taps; t++) {
                const int32_t pair = taps[2 * t + (c & 1)];

                sum += x[offsets[t] + c] * (c < 2 ? nncc_dsp_lo(pair) : nncc_dsp_hi(pair));
            }
            y[c] = nncc_dsp_clamp(nncc_dsp_scale(sum, mcs + 3 * c, 1), p->low, p->cap);
        }
        w = mcs + 12;
        x += 4;
        y += 4;
    }
}

#endif
