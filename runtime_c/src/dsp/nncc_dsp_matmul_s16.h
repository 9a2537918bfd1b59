/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_matmul_s16.h: the requantisation of the products of int16 and weights of 8 bits, and their C.
 */
#ifndef NNCC_DSP_MATMUL_S16_H
#define NNCC_DSP_MATMUL_S16_H

#include "nncc_dsp_core.h"

#if NNCC_DSP_ACLE

/* A sum as an output: by one multiplication, or by the multiplier, half a step, and shift. */
static inline int32_t nncc_dsp_scaled16(int32_t sum, int32_t m)
{
    return (int32_t)(((int64_t)sum * m + 0x80000000LL) >> 32);
}

static inline int32_t nncc_dsp_down16(int32_t sum, const int32_t *m)
{
    return ((int32_t)(((int64_t)sum * m[0]) >> 32) + m[1]) >> m[2];
}

#elif !NNCC_DSP_ASM

/* Two weights of one channel: byte 0 and 2 of a word are those of channel 0, 1 and 3 those of channel 1. */
static inline int32_t nncc_dsp_two(int32_t x, int32_t w, int32_t c)
{
    return nncc_dsp_lo(x) * nncc_dsp_byte(w >> (8 * c)) + nncc_dsp_hi(x) * nncc_dsp_byte(w >> (16 + 8 * c));
}

static inline int16_t nncc_dsp_clamp16(const nncc_dsp_matmul16_params *p, int32_t v)
{
    return (int16_t)(v < p->act_min ? p->act_min : (v > p->act_max ? p->act_max : v));
}

/* By one multiplication. */
static inline int16_t nncc_dsp_output16(const nncc_dsp_matmul16_params *p, uint32_t sum, int32_t m)
{
    return nncc_dsp_clamp16(p, (int32_t)(((int64_t)(int32_t)sum * m + 0x80000000LL) >> 32));
}

/* By the multiplier, half a step, and shift. */
static inline int16_t nncc_dsp_shifted16(const nncc_dsp_matmul16_params *p, uint32_t sum, const int32_t *m)
{
    return nncc_dsp_clamp16(p, ((int32_t)(((int64_t)(int32_t)sum * m[0]) >> 32) + m[1]) >> m[2]);
}

#endif

#endif /* NNCC_DSP_MATMUL_S16_H */
