/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_plain_depthwise_pixel_s8: one pixel of a depthwise layer without the DSP extension: four channels at a time, or,
 * with Thumb-1, channel by channel.
 */
#include "nncc_plain_core.h"

#if NNCC_PLAIN_ASM

#define NNCC_MAC(a, c) "ldrsb r8, [r3, #" c "]\n ldrsb r9, [r1], #1\n mla " a ", r8, r9, " a "\n"
#define NNCC_TAP \
    "ldr r3, [r0], #4\n add.w r3, r3, r2\n" NNCC_MAC("r4", "0") NNCC_MAC("r5", "1") NNCC_MAC("r6", "2") \
        NNCC_MAC("r7", "3")
#define NNCC_CHANNEL(a) "ldm r1!, {r8, r9, r10}\n" NNCC_PLAIN_OUTPUT(a, "r8", "r9", "r10", "r3", "r9")
#define NNCC_BYTE(a) NNCC_PLAIN_LOW(a, "r8") "strb " a ", [lr], #1\n"
/* clang-format off */
#define NNCC_STORE \
    NNCC_CHANNEL("r4") NNCC_CHANNEL("r5") NNCC_CHANNEL("r6") NNCC_CHANNEL("r7") \
    "ldrd r8, r9, [sp, #8]\n cmp r9, #255\n beq 3f\n" \
    NNCC_PLAIN_CLAMP("r4", "r9") NNCC_PLAIN_CLAMP("r5", "r9") NNCC_PLAIN_CLAMP("r6", "r9") \
    NNCC_PLAIN_CLAMP("r7", "r9") \
    "3:\n" \
    NNCC_BYTE("r4") NNCC_BYTE("r5") NNCC_BYTE("r6") NNCC_BYTE("r7")
/* clang-format on */

/* The loop holds four taps of 56 bytes and is entered where the first round is short. r11 end of the offsets, r12
 * entry, lr y. Frame: 0 offsets, 4 channel of the last group, 8 low, 12 bound. */
NNCC_DSP_NAKED void nncc_plain_depthwise_pixel_s8(NNCC_DSP_ARG const nncc_dsp_depthwise_pixel_params *p,
                                                  NNCC_DSP_ARG const int32_t *offsets, NNCC_DSP_ARG const int32_t *w,
                                                  NNCC_DSP_ARG const int8_t *x, NNCC_DSP_ARG int8_t *y)
{
    /* clang-format off */
    __asm volatile(".syntax unified\n"
                   "push {r4-r11, lr}\n"
                   "ldr lr, [sp, #36]\n"
                   "sub sp, #20\n"
                   "ldm r0, {r4-r7}\n"
                   NNCC_PLAIN_BOUND("r6", "r7")
                   "strd r6, r7, [sp, #8]\n"
                   "add r5, r5, r3\n"
                   "subs r5, #4\n"
                   "strd r1, r5, [sp]\n"
                   "add r11, r1, r4, lsl #2\n"
                   "rsb r4, r4, #0\n"
                   "and r4, r4, #3\n" /* taps missing in the first round */
                   "movs r5, #56\n"
                   "adr r6, 2f\n"
                   "mla r4, r4, r5, r6\n"
                   "orr r12, r4, #1\n"
                   "mov r1, r2\n"
                   "mov r2, r3\n"
                   "1:\n"
                   "ldr r0, [sp]\n"
                   "ldm r1!, {r4-r7}\n"
                   "bx r12\n"
                   ".p2align 2\n"
                   "2:\n"
                   ".rept 4\n"
                   NNCC_TAP
                   ".endr\n"
                   "cmp r0, r11\n"
                   "bne 2b\n"
                   NNCC_STORE
                   "ldr r8, [sp, #4]\n"
                   "adds r2, #4\n"
                   "cmp r2, r8\n"
                   "bls.w 1b\n"
                   "sub r3, r2, r8\n" /* 4, or less: the last group overlaps the one before */
                   "cmp r3, #4\n"
                   "itt ne\n"
                   "subne lr, lr, r3\n"
                   "movne r2, r8\n"
                   "bne.w 1b\n"
                   "add sp, #20\n"
                   "pop {r4-r11, pc}\n");
    /* clang-format on */
}

#elif NNCC_THUMB1_ASM

/* r0 offsets, r1 weights of the channel, r2 its inputs, r6 the sum, r7 the place in r1. */
#define NNCC_MAC(off) \
    "ldrsb " off ", [r2, " off "]\n ldrsb r5, [r1, r7]\n muls r5, " off "\n adds r6, r6, r5\n adds r7, #4\n"
#define NNCC_TWO "ldm r0!, {r3, r4}\n" NNCC_MAC("r3") NNCC_MAC("r4")

/*
 * r8 end of the offsets, r9 start value, r10 weights, r11 {m, c, s} of the channel, r12 y, lr 0x8000.
 * Frame: 0 offsets, 4 bound, 8 low, 12 taps, 16 last group's channel, 20 lanes, 24 lanes left; behind it r4 to r11, lr
 * and the fifth argument.
 */
NNCC_DSP_NAKED void nncc_plain_depthwise_pixel_s8(NNCC_DSP_ARG const nncc_dsp_depthwise_pixel_params *p,
                                                  NNCC_DSP_ARG const int32_t *offsets, NNCC_DSP_ARG const int32_t *w,
                                                  NNCC_DSP_ARG const int8_t *x, NNCC_DSP_ARG int8_t *y)
{
    /* clang-format off */
    __asm volatile(".syntax unified\n"
                   "push {r4-r7, lr}\n"
                   "mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n"
                   "push {r4-r7}\n"
                   "sub sp, #28\n"
                   "ldr r4, [sp, #64]\n mov r12, r4\n"
                   "ldm r0!, {r4-r7}\n"
                   "ldr r0, [r0]\n str r0, [sp, #20]\n"
                   "uxtb r6, r6\n uxtb r7, r7\n movs r0, #255\n subs r7, r0, r7\n"
                   "str r1, [sp]\n str r7, [sp, #4]\n str r6, [sp, #8]\n str r4, [sp, #12]\n"
                   "adds r5, r5, r3\n subs r5, #4\n str r5, [sp, #16]\n"
                   "lsls r4, r4, #2\n"
                   "adds r1, r1, r4\n mov r8, r1\n"
                   "movs r0, #128\n lsls r0, r0, #8\n mov lr, r0\n"
                   "mov r9, r2\n"
                   "mov r2, r3\n"
                   "1:\n" /* a group: its words at r9 */
                   "mov r0, r9\n adds r0, #16\n mov r10, r0\n"
                   "ldr r1, [sp, #12]\n lsls r1, r1, #2\n adds r0, r0, r1\n mov r11, r0\n"
                   "ldr r1, [sp, #20]\n str r1, [sp, #24]\n"
                   "2:\n" /* a channel */
                   "mov r0, r9\n ldm r0!, {r6}\n mov r9, r0\n"
                   "mov r1, r10\n"
                   "movs r7, #0\n"
                   "ldr r0, [sp]\n"
                   "ldr r3, [sp, #12]\n"
                   "lsls r3, r3, #31\n"
                   "beq 3f\n"
                   "ldm r0!, {r3}\n"
                   NNCC_MAC("r3")
                   "cmp r0, r8\n"
                   "beq 5f\n"
                   "3:\n"
                   "ldr r3, [sp, #12]\n"
                   "lsls r3, r3, #30\n"
                   "bpl 4f\n"
                   NNCC_TWO
                   "cmp r0, r8\n"
                   "beq 5f\n"
                   "4:\n"
                   NNCC_TWO
                   NNCC_TWO
                   "cmp r0, r8\n"
                   "bne 4b\n"
                   "5:\n"
                   "mov r3, r11\n"
                   NNCC_THUMB1_SCALE("r6")
                   "mov r11, r3\n"
                   NNCC_THUMB1_CLAMP("4")
                   "mov r1, r12\n strb r0, [r1]\n adds r1, #1\n mov r12, r1\n"
                   "adds r2, #1\n"
                   "mov r3, r10\n adds r3, #1\n mov r10, r3\n"
                   "ldr r3, [sp, #24]\n subs r3, #1\n str r3, [sp, #24]\n"
                   "beq 7f\n"
                   "b 2b\n"
                   "7:\n"
                   "mov r9, r11\n"
                   "ldr r3, [sp, #20]\n cmp r3, #4\n"
                   "bne 6f\n"
                   "ldr r3, [sp, #16]\n subs r4, r2, r3\n"
                   "bhi 8f\n"
                   "b 1b\n"
                   "8:\n"
                   "cmp r4, #4\n" /* or less: the last group overlaps the one before */
                   "beq 6f\n"
                   "mov r1, r12\n subs r1, r1, r4\n mov r12, r1\n"
                   "mov r2, r3\n"
                   "b 1b\n"
                   "6:\n"
                   "add sp, #28\n"
                   "pop {r4-r7}\n"
                   "mov r8, r4\n mov r9, r5\n mov r10, r6\n mov r11, r7\n"
                   "pop {r4-r7, pc}\n");
    /* clang-format on */
}

#else

/* A tap of four channels. */
#define NNCC_TAP \
    do { \
        const int8_t *const v = x + *o++; \
        sums[0] += v[0] * weights[0]; \
        sums[1] += v[1] * weights[1]; \
        sums[2] += v[2] * weights[2]; \
        sums[3] += v[3] * weights[3]; \
        weights += 4; \
    } while (0)

/* The sums of four channels, from so many taps. */
NNCC_DSP_AS_WRITTEN static inline void nncc_plain_taps(const int32_t *o, int32_t taps, const int8_t *x,
                                                       const int8_t *weights, int32_t *to)
{
    const int32_t *const end = o + taps;
    int32_t sums[4] = {to[0], to[1], to[2], to[3]};

    if ((taps & 1) != 0) {
        NNCC_TAP;
    }
    NNCC_ROLLED
    while (o != end) {
        NNCC_TAP;
        NNCC_TAP;
    }
    to[0] = sums[0];
    to[1] = sums[1];
    to[2] = sums[2];
    to[3] = sums[3];
}

void nncc_plain_depthwise_pixel_s8(const nncc_dsp_depthwise_pixel_params *p, const int32_t *offsets, const int32_t *w,
                                   const int8_t *x, int8_t *y)
{
    for (int32_t i = 0; i < p->channels; i += 4) {
        const int32_t first = nncc_dsp_group(i, p->channels);
        const int32_t *mcs = w + 4 + p->taps;
        int32_t sums[4] = {w[0], w[1], w[2], w[3]};

        nncc_plain_taps(offsets, p->taps, x + first, (const int8_t *)(w + 4), sums);
        for (int32_t c = 0; c < 4; c++) {
            y[first + c] = nncc_dsp_clamp(nncc_plain_scaled(sums[c], mcs), p->low, p->cap);
            mcs += 3;
        }
        w = mcs;
    }
}

#endif
