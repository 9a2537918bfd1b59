/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_depthwise_pixel_s8: one pixel, four channels at a time, two taps at a time. */
#include "nncc_dsp_core.h"

#if NNCC_DSP_ASM

/* The inputs of four channels at r2 + *r0++ and the weights at r1 are added to r4..r7: 14 instructions of 4 bytes. */
#define NNCC_PAIR \
    "ldrd r8, r9, [r0], #8\n ldr.w r8, [r2, r8]\n ldr.w r9, [r2, r9]\n ldm r1!, {r10, r11, r12, lr}\n" \
    "pkhbt r3, r8, r9, lsl #16\n pkhtb r9, r9, r8, asr #16\n" \
    "sxtb16 r8, r3\n smlad r4, r8, r10, r4\n sxtb16 r3, r3, ror #8\n smlad r5, r3, r11, r5\n" \
    "sxtb16 r8, r9\n smlad r6, r8, r12, r6\n sxtb16 r9, r9, ror #8\n smlad r7, r9, lr, r7\n"
#define NNCC_SINGLE \
    "ldr r8, [r0], #4\n ldrd r10, r11, [r1], #8\n ldr.w r8, [r2, r8]\n" \
    "sxtb16 r9, r8\n sxtb16 r8, r8, ror #8\n" \
    "smlabb r4, r9, r10, r4\n smlatt r6, r9, r10, r6\n smlabb r5, r8, r11, r5\n smlatt r7, r8, r11, r7\n"
#define NNCC_CHANNEL(a) \
    "ldm r1!, {r8, r9, r10}\n add r9, r9, " a ", asr #31\n smmlar " a ", " a ", r8, r9\n asr " a ", " a ", r10\n"

/*
 * The loop holds four pairs of taps and is entered where the first round is short; an odd tap comes first.
 * Frame: 0 offsets, 4 channel of the last group, 8 low, 12 cap, 16 where a group begins, 20 where its pairs do, 24 end
 * of the offsets, 28 y.
 */
NNCC_DSP_NAKED void nncc_dsp_depthwise_pixel_s8(NNCC_DSP_ARG const nncc_dsp_depthwise_pixel_params *p,
                                                NNCC_DSP_ARG const int32_t *offsets, NNCC_DSP_ARG const int32_t *w,
                                                NNCC_DSP_ARG const int8_t *x, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n ldr lr, [sp, #36]\n sub sp, #36\n"
        "ldm r0, {r4-r7}\n strd r6, r7, [sp, #8]\n"
        "add r5, r5, r3\n subs r5, #4\n strd r1, r5, [sp]\n"
        "add r6, r1, r4, lsl #2\n strd r6, lr, [sp, #24]\n"
        "lsrs r5, r4, #1\n rsb r5, r5, #0\n and r5, r5, #3\n" /* pairs missing in the first round */
        "movs r7, #56\n adr r6, 2f\n mla r5, r5, r7, r6\n orr r5, r5, #1\n"
        "adr r6, 5f\n orr r6, r6, #1\n lsls r4, r4, #31\n it eq\n moveq r6, r5\n strd r6, r5, [sp, #16]\n"
        "mov r1, r2\n mov r2, r3\n"
        "1:\n"
        "ldr r0, [sp]\n ldm r1!, {r4-r7}\n ldr r3, [sp, #16]\n bx r3\n"
        ".p2align 2\n"
        "5:\n" NNCC_SINGLE "ldr r3, [sp, #20]\n bx r3\n"
        ".p2align 2\n"
        "2:\n"
        ".rept 4\n" NNCC_PAIR ".endr\n"
        "ldr r3, [sp, #24]\n cmp r0, r3\n bne.w 2b\n" NNCC_CHANNEL("r4") NNCC_CHANNEL("r5") NNCC_CHANNEL("r6")
            NNCC_CHANNEL(
                "r7") "pkhbt r4, r4, r6, lsl #16\n pkhbt r5, r5, r7, lsl #16\n usat16 r4, #8, r4\n usat16 r5, #8, r5\n"
                      "ldrd r8, r9, [sp, #8]\n orr r4, r4, r5, lsl #8\n"
                      "uqadd8 r4, r4, r9\n uqsub8 r4, r4, r9\n uadd8 r4, r4, r8\n"
                      "ldr lr, [sp, #28]\n str r4, [lr], #4\n str lr, [sp, #28]\n"
                      "ldr r8, [sp, #4]\n adds r2, #4\n cmp r2, r8\n bls.w 1b\n"
                      "sub r3, r2, r8\n cmp r3, #4\n beq 6f\n" /* 4, or less: the last group overlaps the one before */
                      "sub lr, lr, r3\n str lr, [sp, #28]\n mov r2, r8\n b.w 1b\n"
                      "6:\n"
                      "add sp, #36\n pop {r4-r11, pc}\n");
}

#else

NNCC_DSP_AS_WRITTEN void nncc_dsp_depthwise_pixel_s8(const nncc_dsp_depthwise_pixel_params *p, const int32_t *offsets,
                                                     const int32_t *w, const int8_t *x, int8_t *y)
{
    const uint32_t cap = p->cap, bias = nncc_dsp_bias(p->low, cap);

    for (int32_t i = 0; i < p->channels; i += 4) {
        const int32_t first = nncc_dsp_group(i, p->channels);
        const int32_t *at = offsets, *const end = offsets + p->taps;
        int32_t s0 = w[0], s1 = w[1], s2 = w[2], s3 = w[3];

        w += 4;
        if ((p->taps & 1) != 0) {
            const int8_t *const one = x + first + *at++;

            s0 += one[0] * nncc_dsp_lo(w[0]);
            s1 += one[1] * nncc_dsp_lo(w[1]);
            s2 += one[2] * nncc_dsp_hi(w[0]);
            s3 += one[3] * nncc_dsp_hi(w[1]);
            w += 2;
        }
        while (at != end) {
            const int32_t u = nncc_dsp_load4(x + first + at[0]), v = nncc_dsp_load4(x + first + at[1]);
            const int32_t low = nncc_dsp_lows(u, v), high = nncc_dsp_highs(u, v);

            s0 = NNCC_SMLAD(nncc_dsp_even(low), w[0], s0);
            s1 = NNCC_SMLAD(nncc_dsp_odd(low), w[1], s1);
            s2 = NNCC_SMLAD(nncc_dsp_even(high), w[2], s2);
            s3 = NNCC_SMLAD(nncc_dsp_odd(high), w[3], s3);
            at += 2;
            w += 4;
        }
        s0 = nncc_dsp_scaled(s0, w[0], w[1], w[2]);
        s1 = nncc_dsp_scaled(s1, w[3], w[4], w[5]);
        s2 = nncc_dsp_scaled(s2, w[6], w[7], w[8]);
        s3 = nncc_dsp_scaled(s3, w[9], w[10], w[11]);
        nncc_dsp_store4(y + first, nncc_dsp_clamped(nncc_dsp_bytes(s0, s1, s2, s3), bias, cap));
        w += 12;
    }
}

#endif
