/*
 * nncc_plain_mat2_s8: two pixels by four channels without the DSP extension.
 *
 * Thumb-2: an input is 1 LDRD, 4 LDRSB and 8 MLA for 8 MACs: per MAC 0.75 words loaded by 0.63 instructions, 1 MAC, no others;
 * the loop holds eight inputs. Thumb-1 has no room for eight sums: both pixels share a word, one multiplication gives both
 * products, and two of them are added before their halves are parted, for one channel at a time: about 3.5 instructions a MAC.
 */
#include "nncc_dsp_core.h"

#if NNCC_PLAIN_ASM

#define NNCC_WEIGHT(a, b) "ldrsb r12, [r1], #1\n mla " a ", r10, r12, " a "\n mla " b ", r11, r12, " b "\n"
#define NNCC_INPUT                                                                                              \
    "ldrd r10, r11, [r0], #8\n" NNCC_WEIGHT("r2", "r3") NNCC_WEIGHT("r4", "r5") NNCC_WEIGHT("r6", "r7") NNCC_WEIGHT("r8", "r9")
/* An output: a is the sum, r10, r11, r12 are m, c, s; r0 and lr are free. */
#define NNCC_OUTPUT(a)                                                                                          \
    "lsl " a ", " a ", #1\n add r0, r11, " a ", asr #31\n smull lr, " a ", " a ", r10\n"                        \
    "adds lr, lr, lr\n adc " a ", " a ", r0\n asr " a ", " a ", r12\n usat " a ", #8, " a "\n"
#define NNCC_CHANNEL(a, b) "ldm r1!, {r10, r11, r12}\n" NNCC_OUTPUT(a) NNCC_OUTPUT(b)
/* a is at most 255 - cap (r11); later low (r10) is added. */
#define NNCC_CLAMP(a) "cmp " a ", r11\n it gt\n movgt " a ", r11\n"
#define NNCC_LOW(a) "add " a ", " a ", r10\n"

/* Frame: 0 x, 4 entry, 8 end of x, 12 y, 16 y_step, 20 end of w, 24 low, 28 255 - cap. */
NNCC_DSP_NAKED void nncc_plain_mat2_s8(NNCC_DSP_ARG const nncc_dsp_mat_params *p, NNCC_DSP_ARG const int32_t *x,
                                       NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, #36\n"
        "ldm r0, {r4-r9}\n"
        "add r11, r1, r5, lsl #3\n"
        "str r1, [sp]\n"
        "strd r11, r3, [sp, #8]\n"
        "lsl r10, r5, #2\n"
        "add r10, r10, #64\n"
        "mla r10, r10, r4, r2\n"
        "strd r6, r10, [sp, #16]\n"
        "uxtb r8, r8\n"
        "uxtb r9, r9\n"
        "rsb r9, r9, #255\n"
        "strd r8, r9, [sp, #24]\n"
        "mov r1, r2\n"
        "rsb r5, r5, #0\n"
        "and r5, r5, #7\n" /* inputs missing in the first round */
        "movs r6, #52\n"
        "adr r7, 2f\n"
        "mla r5, r5, r6, r7\n"
        "orr r5, r5, #1\n"
        "str r5, [sp, #4]\n"
        "1:\n"
        "ldm r1!, {r2, r4, r6, r8}\n"
        "ldrd r0, r10, [sp]\n"
        "mov r3, r2\n"
        "mov r5, r4\n"
        "mov r7, r6\n"
        "mov r9, r8\n"
        "bx r10\n"
        ".p2align 2\n"
        "2:\n"
        ".rept 8\n" NNCC_INPUT ".endr\n"
        "ldr r10, [sp, #8]\n"
        "cmp r0, r10\n"
        "bne.w 2b\n"
        NNCC_CHANNEL("r2", "r3") NNCC_CHANNEL("r4", "r5") NNCC_CHANNEL("r6", "r7") NNCC_CHANNEL("r8", "r9")
        "ldrd r10, r11, [sp, #24]\n"
        "cmp r11, #255\n"
        "beq 3f\n"
        NNCC_CLAMP("r2") NNCC_CLAMP("r3") NNCC_CLAMP("r4") NNCC_CLAMP("r5")
        NNCC_CLAMP("r6") NNCC_CLAMP("r7") NNCC_CLAMP("r8") NNCC_CLAMP("r9")
        "3:\n"
        NNCC_LOW("r2") NNCC_LOW("r3") NNCC_LOW("r4") NNCC_LOW("r5") NNCC_LOW("r6") NNCC_LOW("r7") NNCC_LOW("r8") NNCC_LOW("r9")
        "ldrd r10, r11, [sp, #12]\n"
        "ldr r12, [sp, #20]\n"
        "add r11, r11, r10\n"
        "strb r3, [r11], #1\n strb r5, [r11], #1\n strb r7, [r11], #1\n strb r9, [r11]\n"
        "strb r2, [r10], #1\n strb r4, [r10], #1\n strb r6, [r10], #1\n strb r8, [r10], #1\n"
        "str r10, [sp, #12]\n"
        "cmp r1, r12\n"
        "bne.w 1b\n"
        "add sp, #36\n"
        "pop {r4-r11, pc}\n");
}

#else

void nncc_plain_mat2_s8(const nncc_dsp_mat_params *p, const int32_t *x, const int32_t *w, int8_t *y)
{
    for (int32_t g = 0; g < p->groups; g++) {
        const int32_t *mcs = w + 4 + p->pairs;

        for (int32_t c = 0; c < 4; c++) {
            int32_t second;
            const int32_t first = nncc_plain_products_s8(x, (const int8_t *)(w + 4) + c, p->pairs, &second);

            y[p->y_step] = nncc_dsp_clamp(nncc_plain_scale(2 * (w[c] + second), mcs), p->low, p->cap);
            y[0] = nncc_dsp_clamp(nncc_plain_scale(2 * (w[c] + first), mcs), p->low, p->cap);
            y++;
            mcs += 3;
        }
        w = mcs;
    }
}

#endif
