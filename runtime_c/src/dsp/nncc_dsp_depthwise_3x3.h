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

#else

/* A sum scaled by {m, c}, with the sign correction in c. */
static inline int32_t nncc_dsp_upper_scaled(int32_t sum, int32_t m, int32_t c)
{
    return nncc_dsp_upper_word((int64_t)sum * m) + c;
}

/* Its upper half as a byte, signed or from 0 to 255. */
static inline int8_t nncc_dsp_upper_signed(int32_t sum, int32_t m, int32_t c)
{
    return nncc_dsp_nearest(nncc_dsp_upper_scaled(sum, m, c) >> 16);
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

#endif
