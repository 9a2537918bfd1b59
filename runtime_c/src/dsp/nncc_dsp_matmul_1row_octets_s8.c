/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_matmul_1row_octets_s8: one pixel times narrow weights, eight channels at a time. Eight sums leave four
 * registers for an input and weights, so three or four words are loaded one after the other.
 */
#include "nncc_dsp_core.h"

#if NNCC_DSP_ASM

#define NNCC_LOAD(to, base, offset) "ldr " to ", [" base ", #" offset "]\n"
/* The same, the address becomes the base. */
#define NNCC_MOVE(to, base, offset) "ldr " to ", [" base ", #" offset "]!\n"
/* A pair of inputs by the weights of two channels: odd gets 256 times its sum with the even one's added. */
#define NNCC_TWO(x, w, even, odd) \
    "smlad " odd ", " x ", " w ", " odd "\n sxtb16 " w ", " w "\n smlad " even ", " x ", " w ", " even "\n"
#define NNCC_TWO_0(x, w) NNCC_TWO(x, w, "r6", "r7")
#define NNCC_TWO_1(x, w) NNCC_TWO(x, w, "r8", "r9")
#define NNCC_TWO_2(x, w) NNCC_TWO(x, w, "r10", "r11")
#define NNCC_TWO_3(x, w) NNCC_TWO(x, w, "r12", "lr")
/* The second pair of inputs and the weights behind the first three of the first one. */
#define NNCC_REST(x, w3, w4, w5, w6, w7, BEFORE) \
    NNCC_TWO_0("r2", "r3") \
    NNCC_TWO_1("r2", "r4") \
    NNCC_TWO_2("r2", "r5") \
    NNCC_LOAD("r3", "r1", w3) \
    NNCC_LOAD("r4", "r0", x) \
    NNCC_LOAD("r5", "r1", w4) \
    NNCC_TWO_3("r2", "r3") \
    NNCC_TWO_0("r4", "r5") \
    NNCC_LOAD("r2", "r1", w5) \
    NNCC_LOAD("r3", "r1", w6) \
    NNCC_LOAD("r5", "r1", w7) NNCC_TWO_1("r4", "r2") BEFORE NNCC_TWO_2("r4", "r3") NNCC_TWO_3("r4", "r5")
/* Eight inputs; x and w point to the ones before. BEFORE the last products r2 is free. */
#define NNCC_EIGHT(BEFORE) \
    NNCC_MOVE("r2", "r0", "16") \
    NNCC_MOVE("r3", "r1", "64") \
    NNCC_LOAD("r4", "r1", "4") \
    NNCC_LOAD("r5", "r1", "8") \
    NNCC_REST("4", "12", "16", "20", "24", "28", "") \
    NNCC_LOAD("r2", "r0", "8") \
    NNCC_LOAD("r3", "r1", "32") \
    NNCC_LOAD("r4", "r1", "36") NNCC_LOAD("r5", "r1", "40") NNCC_REST("12", "44", "48", "52", "56", "60", BEFORE)
#define NNCC_LOOP \
    "2:\n" NNCC_EIGHT("") "3:\n" NNCC_EIGHT(NNCC_LOAD("r2", "sp", "4")) "cmp r0, r2\n" \
                                                                        "bne.w 2b\n"

/* Twice a sum, times its scale. */
#define NNCC_SCALED(a, shift) \
    "ldm r1!, {r2, r3, r4}\n" shift "add r3, r3, " a ", asr #31\n smmlar " a ", " a ", r2, r3\n asr " a ", " a ", " \
    "r4\n"
#define NNCC_EVEN(a) NNCC_SCALED(a, "lsl " a ", " a ", #1\n")
#define NNCC_ODD(a) NNCC_SCALED(a, "asr " a ", " a ", #7\n")
#define NNCC_ALL_SCALED \
    NNCC_EVEN("r6") \
    NNCC_ODD("r7") NNCC_EVEN("r8") NNCC_ODD("r9") NNCC_EVEN("r10") NNCC_ODD("r11") NNCC_EVEN("r12") NNCC_ODD("lr")

/*
 * The frame: 0 x before the first inputs, 4 before the last ones, 8 entry, 12 y, 16 end of w, 20 low, 24 cap. A loop
 * holds 16 inputs and is entered in the middle for an odd number of eights.
 */
NNCC_DSP_NAKED void nncc_dsp_matmul_1row_octets_s8(NNCC_DSP_ARG const nncc_dsp_matmul_params *p,
                                                   NNCC_DSP_ARG const void *x, NNCC_DSP_ARG const int32_t *w,
                                                   NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(".syntax unified\n"
                   "push {r4-r11, lr}\n"
                   "sub sp, #28\n"
                   "ldm r0, {r4-r9}\n"
                   "sub r1, r1, #16\n"
                   "add r10, r1, r5, lsl #2\n"
                   "strd r1, r10, [sp]\n"
                   "lsl r10, r5, #4\n"
                   "add r10, r10, #128\n"
                   "mla r10, r10, r4, r2\n"
                   "strd r3, r10, [sp, #12]\n"
                   "strd r8, r9, [sp, #20]\n"
                   "mov r1, r2\n"
                   "tst r5, #4\n"
                   "ite eq\n"
                   "adreq.w r7, 2f + 1\n"
                   "adrne.w r7, 3f + 1\n"
                   "str r7, [sp, #8]\n"
                   "1:\n"
                   "ldm r1!, {r6-r12, lr}\n"
                   "ldr r0, [sp]\n"
                   "ldr r2, [sp, #8]\n"
                   "subs r1, #64\n"
                   "bx r2\n"
                   ".p2align 2\n" NNCC_LOOP "adds r1, #64\n"
                   "sub r7, r7, r6\n sub r9, r9, r8\n sub r11, r11, r10\n sub lr, lr, r12\n" NNCC_ALL_SCALED
                   "pkhbt r6, r6, r8, lsl #16\n"
                   "pkhbt r7, r7, r9, lsl #16\n"
                   "pkhbt r10, r10, r12, lsl #16\n"
                   "pkhbt r11, r11, lr, lsl #16\n"
                   "usat16 r6, #8, r6\n"
                   "usat16 r7, #8, r7\n"
                   "usat16 r10, #8, r10\n"
                   "usat16 r11, #8, r11\n"
                   "ldrd r2, r3, [sp, #20]\n"
                   "orr r6, r6, r7, lsl #8\n"
                   "orr r10, r10, r11, lsl #8\n"
                   "uqadd8 r6, r6, r3\n"
                   "uqadd8 r10, r10, r3\n"
                   "uqsub8 r6, r6, r3\n"
                   "uqsub8 r10, r10, r3\n"
                   "uadd8 r6, r6, r2\n"
                   "uadd8 r10, r10, r2\n"
                   "ldrd r2, r3, [sp, #12]\n"
                   "str r6, [r2], #4\n"
                   "str r10, [r2], #4\n"
                   "str r2, [sp, #12]\n"
                   "cmp r1, r3\n"
                   "bne.w 1b\n"
                   "add sp, #28\n"
                   "pop {r4-r11, pc}\n");
}

#else

/* Four channels of eight: start values, weights and scales begin at theirs. */
static NNCC_DSP_AS_WRITTEN void half_of_eight(const nncc_dsp_matmul_params *p, const int32_t *x, const int32_t *start,
                                              const int32_t *w, const int32_t *mcs, int8_t *y)
{
    const int32_t *const end = x + p->pairs;
    const int32_t pixels = 1, words = NNCC_DSP_NARROW;
    nncc_dsp_sums s = {start[0], 0, start[1], 0, start[2], 0, start[3], 0};

    do {
        nncc_dsp_two_pairs_of(&s, words, 4, x, w);
        nncc_dsp_two_pairs_of(&s, words, 4, x + 2, w + 8);
        x += 4;
        w += 16;
    } while (x != end);
    NNCC_DSP_NARROW_SCALED(mcs);
    nncc_dsp_put(0, NULL, nncc_dsp_bias(p->low, p->cap), p->cap, nncc_dsp_bytes(s.a0, s.b0, s.c0, s.d0), y);
}

void nncc_dsp_matmul_1row_octets_s8(const nncc_dsp_matmul_params *p, const void *x, const int32_t *w, int8_t *y)
{
    const int32_t *const inputs = x;

    for (int32_t g = p->groups; g > 0; g--) {
        const int32_t *const weights = w + 8, *const mcs = weights + 4 * p->pairs;

        half_of_eight(p, inputs, w, weights, mcs, y);
        half_of_eight(p, inputs, w + 4, weights + 2, mcs + 12, y + 4);
        w = mcs + 24;
        y += 8;
    }
}

#endif
