/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_3x3.h: what the inner functions of the 3x3 depthwise kernel share. Inputs are 256 times as large
 * and weights shifted so that the scaled output lies in the upper half of a word: an output is SMMLA and SSAT. With
 * NNCC_ROWS_RELU no negative sum survives the clamp; without it its constant c loses d.
 */
#include "nncc_dsp_core.h"

#ifndef NNCC_ROWS_RELU
#define NNCC_ROWS_RELU 0
#endif

#if NNCC_DSP_ASM

/* The sum a becomes an output by m and c, or by m, c and d with a register t in between. */
#define NNCC_OUTPUT_RELU(a, m, c) "smmla " a ", " a ", " m ", " c "\n ssat " a ", #8, " a ", asr #16\n"
#define NNCC_OUTPUT(a, m, c, d, t) \
    "and " t ", " d ", " a ", asr #31\n sub " t ", " c ", " t "\n" NNCC_OUTPUT_RELU(a, m, t)

/* The sums r2 to r5 and the scales at r1 become four bytes in r2. */
#if NNCC_ROWS_RELU
#define NNCC_ROWS_SCALES "ldm r1, {r6, r7, r8, r9, r10, r11, r12, lr}\n"
#else
#define NNCC_ROWS_SCALES \
    "ldm r1!, {r6, r7, r8, r9}\n" \
    "and r6, r6, r2, asr #31\n and r7, r7, r3, asr #31\n and r8, r8, r4, asr #31\n and r9, r9, r5, asr #31\n" \
    "ldm r1!, {r10, r11, r12, lr}\n sub r10, r10, r6\n sub r11, r11, r7\n sub r12, r12, r8\n sub lr, lr, r9\n" \
    "ldm r1, {r6, r7, r8, r9}\n"
#endif
#define NNCC_ROWS_FOUR \
    NNCC_ROWS_SCALES \
    "smmla r2, r2, r6, r10\n smmla r3, r3, r7, r11\n smmla r4, r4, r8, r12\n smmla r5, r5, r9, lr\n" \
    "pkhtb r2, r4, r2, asr #16\n pkhtb r3, r5, r3, asr #16\n usat16 r2, #8, r2\n usat16 r3, #8, r3\n" \
    "orr r2, r2, r3, lsl #8\n eor r2, r2, #0x80808080\n"

#else

/* A sum scaled by {m, c}, with the sign correction in c. */
static inline int32_t nncc_dsp_upper_scaled(int32_t sum, int32_t m, int32_t c)
{
    return (int32_t)(((int64_t)sum * m) >> 32) + c;
}

/* Its upper half as a byte, signed or from 0 to 255. */
static inline int8_t nncc_dsp_upper_signed(int32_t sum, int32_t m, int32_t c)
{
    return (int8_t)nncc_sat8(nncc_dsp_upper_scaled(sum, m, c) >> 16);
}

/* c of a sum {m, c, d}. */
#if NNCC_ROWS_RELU
#define NNCC_ROWS_C(sum, c, d) ((void)(d), (c))
#else
#define NNCC_ROWS_C(sum, c, d) ((c) - ((d) & ((sum) >> 31)))
#endif

static inline uint32_t nncc_dsp_upper_byte(int32_t sum, int32_t m, int32_t c)
{
    return NNCC_USAT8(nncc_dsp_upper_scaled(sum, m, c) >> 16);
}

/* Two channels: their scales from w on, and the byte of one of their sums. */
#if NNCC_ROWS_RELU
#define NNCC_ROWS_LOAD_SCALES(w) \
    NNCC_DSP_LOAD_BOTH(w, x0, x1); \
    NNCC_DSP_LOAD_BOTH((w) + 4, v0, v1)
#define NNCC_ROWS_BYTE(s, k) nncc_dsp_upper_byte(s, x##k, v##k)
#else
#define NNCC_ROWS_LOAD_SCALES(w) \
    NNCC_DSP_LOAD_BOTH(w, u0, u1); \
    NNCC_DSP_LOAD_BOTH((w) + 4, v0, v1); \
    NNCC_DSP_LOAD_BOTH((w) + 8, x0, x1)
#define NNCC_ROWS_BYTE(s, k) nncc_dsp_upper_byte(s, x##k, v##k - (u##k & ((s) >> 31)))
#endif

#endif
