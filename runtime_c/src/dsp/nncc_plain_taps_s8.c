/*
 * nncc_plain_taps_s8: one pixel, four channels at a time, without the DSP extension. A tap is 1 LDR, 1 ADD, 8 LDRSB and 4 MLA
 * for 4 MACs: per MAC 2.3 loads, 1 MAC, 0.3 others. The loop holds four taps and is entered where the first round is short.
 */
#include "nncc_dsp_core.h"

#if NNCC_PLAIN_ASM

#define NNCC_MAC(a, c) "ldrsb r8, [r3, #" c "]\n ldrsb r9, [r1], #1\n mla " a ", r8, r9, " a "\n"
#define NNCC_TAP "ldr r3, [r0], #4\n add.w r3, r3, r2\n" NNCC_MAC("r4", "0") NNCC_MAC("r5", "1") NNCC_MAC("r6", "2") NNCC_MAC("r7", "3")
/* r8, r9, r10 become m, c, s. */
#define NNCC_CHANNEL(a)                                                                                 \
    "ldm r1!, {r8, r9, r10}\n lsl " a ", " a ", #1\n add r9, r9, " a ", asr #31\n smull lr, " a ", " a ", r8\n" \
    "adds lr, lr, lr\n adc " a ", " a ", r9\n asr " a ", " a ", r10\n usat " a ", #8, " a "\n"
/* a is at most 255 - cap (r9). */
#define NNCC_CLAMP(a) "cmp " a ", r9\n it gt\n movgt " a ", r9\n"
#define NNCC_STORE(a) "add " a ", " a ", r8\n strb " a ", [r10], #1\n"

/* Frame: 0 offsets, 4 entry, 8 y, 16 low, 20 255 - cap, 24 groups left. */
NNCC_DSP_NAKED void nncc_plain_taps_s8(NNCC_DSP_ARG const nncc_dsp_taps_params *p, NNCC_DSP_ARG const int32_t *offsets,
                                       NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG const int8_t *x, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldr r12, [sp, #36]\n"
        "sub sp, #28\n"
        "ldm r0, {r4-r7}\n"
        "str r12, [sp, #8]\n"
        "uxtb r6, r6\n"
        "uxtb r7, r7\n"
        "rsb r7, r7, #255\n"
        "strd r6, r7, [sp, #16]\n"
        "str r5, [sp, #24]\n"
        "add r11, r1, r4, lsl #2\n"
        "rsb r4, r4, #0\n"
        "and r4, r4, #3\n" /* taps missing in the first round */
        "movs r5, #56\n"
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
        "ldrd r8, r9, [sp, #16]\n"
        "cmp r9, #255\n"
        "beq 3f\n"
        NNCC_CLAMP("r4") NNCC_CLAMP("r5") NNCC_CLAMP("r6") NNCC_CLAMP("r7")
        "3:\n"
        "ldr r10, [sp, #8]\n"
        NNCC_STORE("r4") NNCC_STORE("r5") NNCC_STORE("r6") NNCC_STORE("r7")
        "str r10, [sp, #8]\n"
        "ldr r12, [sp, #24]\n"
        "adds r2, #4\n"
        "subs r12, r12, #1\n"
        "str r12, [sp, #24]\n"
        "bne.w 1b\n"
        "add sp, #28\n"
        "pop {r4-r11, pc}\n");
}

#else

void nncc_plain_taps_s8(const nncc_dsp_taps_params *p, const int32_t *offsets, const int32_t *w, const int8_t *x, int8_t *y)
{
    const int32_t *const end = offsets + p->taps;

    for (int32_t g = 0; g < p->groups; g++) {
        const int8_t *weight = (const int8_t *)(w + 4);
        const int32_t *mcs = w + 4 + p->taps;

        for (int32_t c = 0; c < 4; c++) {
            const int8_t *v = weight + c;
            int32_t sum = w[c];

            for (const int32_t *o = offsets; o < end; o++) {
                sum += x[*o] * *v;
                v += 4;
            }
            *y++ = nncc_dsp_clamp(nncc_plain_scale(2 * sum, mcs), p->low, p->cap);
            x++;
            mcs += 3;
        }
        w = mcs;
    }
}

#endif
