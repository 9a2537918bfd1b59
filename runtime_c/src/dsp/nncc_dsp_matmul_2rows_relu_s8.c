/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_matmul_2rows_relu_s8: two pixels times narrow weights, an output is one SMMLA. */
#include "nncc_dsp_core.h"

#if NNCC_DSP_ASM

/* r2, r4, r6, r8 are the sums of the first pixel, of channels 0, 2, 1, 3, and r3, r5, r7, r9 those of the second one,
 * which begin with a, b, c, d. */
/* clang-format off */
#define NNCC_PAIR(a, b, c, d) \
    "ldrd r10, r11, [r0], #8\n" \
    "ldrd r12, lr, [r1], #8\n" \
    "smlad r5, r11, r12, " b "\n" \
    "smlad r4, r10, r12, r4\n" \
    "sxtb16 r12, r12\n" \
    "smlad r3, r11, r12, " a "\n" \
    "smlad r2, r10, r12, r2\n" \
    "smlad r9, r11, lr, " d "\n" \
    "smlad r8, r10, lr, r8\n" \
    "sxtb16 lr, lr\n" \
    "smlad r7, r11, lr, " c "\n" \
    "smlad r6, r10, lr, r6\n"
/* Results in the middle of a and c and in the upper half of b and d become bytes of a, 0 to 255. */
#define NNCC_BYTES(a, b, c, d) \
    "pkhtb " a ", " b ", " a ", asr #8\n" \
    "pkhtb " c ", " d ", " c ", asr #8\n" \
    "usat16 " a ", #8, " a "\n" \
    "usat16 " c ", #8, " c "\n" \
    "orr " a ", " a ", " c ", lsl #8\n"
/* clang-format on */

/*
 * Frame: 0 x, 4 y, 8 y_step, 12 end of w, 16 x of the last round, 20 where a group goes behind its first pair, 24 where
 * its first round begins. The loop holds 16 pairs and is entered where the first round is short. Z says that a round is
 * the last one: the ends of groups clear it, and a first round that is the last one is entered behind 6.
 */
NNCC_DSP_NAKED void nncc_dsp_matmul_2rows_relu_s8(NNCC_DSP_ARG const nncc_dsp_matmul_params *p,
                                                  NNCC_DSP_ARG const void *x, NNCC_DSP_ARG const int32_t *w,
                                                  NNCC_DSP_ARG int8_t *y)
{
    /* clang-format off */
    __asm volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldm r0, {r4, r5, r6}\n"
        "lsl r10, r5, #3\n"
        "add r11, r1, r10\n"
        "adds r10, #48\n"
        "mla r10, r10, r4, r2\n"
        "sub r11, r11, #128\n"
        "rsb r7, r5, #1\n"
        "and r7, r7, #15\n"
        "movs r8, #48\n"
        "adr.w r12, 2f + 1\n"
        "mla r12, r7, r8, r12\n"
        "cmp r5, #17\n"
        "bhi 0f\n"
        "mov lr, r12\n"
        "adr.w r12, 6f + 1\n"
        "cmp r5, #1\n"
        "it eq\n"
        "adreq r12, 3f + 1\n"
        "0: push {r1, r3, r6, r10, r11, r12, lr}\n"
        "mov r0, r1\n"
        "mov r1, r2\n"
        "1:\n"
        "ldm r1!, {r2, r4, r6, r8}\n"
        NNCC_PAIR("r2", "r4", "r6", "r8")
        "ldr pc, [sp, #20]\n"
        ".p2align 2\n"
        "5: ldr r10, [sp, #16]\n"
        "cmp.w r0, r10\n"
        "2:\n"
        ".rept 16\n"
        NNCC_PAIR("r3", "r5", "r7", "r9")
        ".endr\n"
        "bne.w 5b\n"
        "3:\n"
        "sub r4, r4, r2\n"
        "sub r5, r5, r3\n"
        "ldm r1!, {r10, r11, r12, lr}\n"
        "sub r8, r8, r6\n"
        "sub r9, r9, r7\n"
        "smmla r2, r2, r10, r11\n"
        "smmla r3, r3, r10, r11\n"
        "smmla r4, r4, r12, lr\n"
        "smmla r5, r5, r12, lr\n"
        "ldm r1!, {r10, r11, r12, lr}\n"
        "smmla r6, r6, r10, r11\n"
        "smmla r7, r7, r10, r11\n"
        "smmla r8, r8, r12, lr\n"
        "smmla r9, r9, r12, lr\n"
        NNCC_BYTES("r2", "r4", "r6", "r8")
        NNCC_BYTES("r3", "r5", "r7", "r9")
        "eor r2, r2, #0x80808080\n"
        "eor r3, r3, #0x80808080\n"
        "ldm sp, {r0, r10, r11, r12}\n"
        "str r3, [r10, r11]\n"
        "str r2, [r10], #4\n"
        "str r10, [sp, #4]\n"
        "cmp r1, r12\n"
        "bne.w 1b\n"
        "add sp, #28\n"
        "pop {r4-r11, pc}\n"
        "6: cmp r0, r0\n"
        "ldr pc, [sp, #24]\n");
    /* clang-format on */
}

#else

static inline int32_t scaled(int32_t v, int32_t m, int32_t c)
{
    return (int32_t)(((int64_t)v * m) >> 32) + c;
}

/* The sums of two channels, of which b has a added, scaled: a constant at a time, as registers are scarce. */
#define NNCC_RELU_TWO(a, b) \
    do { \
        s.b##0 = NNCC_DSP_LESS(s.b##0, s.a##0); \
        s.b##1 = NNCC_DSP_LESS(s.b##1, s.a##1); \
        s.a##0 = scaled(s.a##0, w[0], w[1]); \
        s.a##1 = scaled(s.a##1, w[0], w[1]); \
        s.b##0 = scaled(s.b##0, w[2], w[3]); \
        s.b##1 = scaled(s.b##1, w[2], w[3]); \
        w += 4; \
    } while (0)

/* Results in the middle of a and c and in the upper half of b and d as bytes. */
static inline uint32_t bytes_of(int32_t a, int32_t b, int32_t c, int32_t d)
{
    const uint32_t even = NNCC_USAT8(a >> 8) | (NNCC_USAT8(c >> 8) << 8);
    const uint32_t odd = NNCC_USAT8(b >> 16) | (NNCC_USAT8(d >> 16) << 8);

    return (even | (odd << 16)) ^ 0x80808080u;
}

NNCC_DSP_AS_WRITTEN void nncc_dsp_matmul_2rows_relu_s8(const nncc_dsp_matmul_params *p, const void *x, const int32_t *w,
                                                       int8_t *y)
{
    const int32_t *const inputs = x;
    const int32_t pairs = p->pairs, y_step = p->y_step;

    for (int32_t g = p->groups; g > 0; g--) {
        nncc_dsp_sums s;

        w = nncc_dsp_pairs_of(&s, NNCC_DSP_NARROW, pairs, inputs, w, w + 4, 0, 0);
        NNCC_RELU_TWO(a, b);
        NNCC_RELU_TWO(c, d);
        nncc_dsp_store4(y + y_step, bytes_of(s.a1, s.b1, s.c1, s.d1));
        nncc_dsp_store4(y, bytes_of(s.a0, s.b0, s.c0, s.d0));
        y += 4;
    }
}

#endif
