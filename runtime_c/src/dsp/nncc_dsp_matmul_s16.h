/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_matmul_s16.h: the requantisation of the products of int16 and weights of 8 bits, and their C.
 */
#include "nncc_dsp_core.h"

/* A sum by the multiplier, of which only the upper 16 bits are not 0, half a step, and shift, without long products. */
static inline int32_t nncc_plain_down16(int32_t sum, const int32_t *m)
{
    const int32_t mult = m[0] >> 16;
    const int32_t upper = (sum >> 16) * mult + (int32_t)(((uint32_t)sum & 0xffffu) * (uint32_t)mult >> 16);

    return (upper + m[1]) >> m[2];
}

static inline void nncc_plain_store16(int32_t v, int32_t low, int32_t high, int8_t *y)
{
    *(int16_t *)(void *)y = (int16_t)(v < low ? low : (v > high ? high : v));
}

#if !NNCC_DSP_ASM

/* Adds the inputs in a word times two weights of channel 0, bytes 0 and 2 of a word, or of channel 1, bytes 1 and 3. */
#if NNCC_DSP_ACLE
#define NNCC_ADD_TWO0(sum, x, w) sum = NNCC_SMLAD(x, nncc_dsp_even(w), sum)
#define NNCC_ADD_TWO1(sum, x, w) sum = NNCC_SMLAD(x, nncc_dsp_odd(w), sum)
#else
#define NNCC_ADD_TWO0(sum, x, w) \
    do { \
        sum += nncc_dsp_lo(x) * nncc_dsp_byte(w); \
        sum += ((x) >> 16) * nncc_dsp_byte((w) >> 16); \
    } while (0)
#define NNCC_ADD_TWO1(sum, x, w) \
    do { \
        sum += nncc_dsp_lo(x) * nncc_dsp_byte((w) >> 8); \
        sum += ((x) >> 16) * ((w) >> 24); \
    } while (0)
#endif

/* An input. */
static inline int32_t nncc_dsp_half(const int8_t *x)
{
    int16_t v;

    memcpy(&v, x, sizeof v);
    return v;
}

/* An output by one multiplication. */
static inline void nncc_dsp_output16(const nncc_dsp_quads16_params *p, int32_t sum, int32_t m, int8_t *y)
{
    nncc_plain_store16((int32_t)(((int64_t)sum * m + 0x80000000LL) >> 32), p->act_min, p->act_max, y);
}

static inline void nncc_dsp_shifted16(const nncc_dsp_quads16_params *p, int32_t sum, const int32_t *m, int8_t *y)
{
    nncc_plain_store16(nncc_plain_down16(sum, m), p->act_min, p->act_max, y);
}

#endif
