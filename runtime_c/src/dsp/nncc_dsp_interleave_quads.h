/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_interleave_quads.h: quads of inputs for the depthwise kernels, four words (a, b) of the channels of two
 * pixels, 256 times as large. A quad costs 12 instructions: 2 loads and one STM of 4 words.
 */
#include "nncc_dsp_interleave.h"

/* Two rows of pixels, so many bytes apart; 0: always the same pixel. */
typedef struct
{
    const int8_t *a;
    const int8_t *b;
    int32_t a_step;
    int32_t b_step;
} nncc_dsp_two_rows;

#define NNCC_QUAD \
    "ldr r4, [%[a]]\n ldr r6, [%[b]]\n add %[a], %[a], %[as]\n add %[b], %[b], %[bs]\n" \
    "pkhbt r5, r4, r6, lsl #16\n pkhtb r8, r6, r4, asr #16\n" \
    "and r4, %[m], r5, lsl #8\n and r5, r5, %[m]\n and r6, %[m], r8, lsl #8\n and r8, r8, %[m]\n" \
    "stm %[to]!, {r4, r5, r6, r8}\n"

/* n quads. */
NNCC_INTERLEAVING static inline void nncc_dsp_interleave_quads(const nncc_dsp_two_rows *r, int32_t n, int32_t *to)
{
    if (n <= 0) {
        return;
    }
#if NNCC_DSP_ASM
    const int8_t *a = r->a, *b = r->b;

    __asm volatile("lsls r4, %[n], #31\n bne 2f\n"
                   "1:\n" NNCC_QUAD "2:\n" NNCC_QUAD "subs %[n], %[n], #2\n bgt 1b\n"
                   : [a] "+r"(a), [b] "+r"(b), [to] "+r"(to), [n] "+r"(n)
                   : [as] "r"(r->a_step), [bs] "r"(r->b_step), [m] "r"(0xff00ff00u)
                   : "r4", "r5", "r6", "r8", "memory", "cc");
#else
    nncc_dsp_interleave(r->a, r->a_step, r->b, r->b_step, n, 1, to);
#endif
}
