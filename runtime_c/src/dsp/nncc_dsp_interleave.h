/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_interleave.h: pixels of two lines as words for the depthwise kernels, in intrinsics: the words of four
 * channels hold the upper pixel below the lower one, 256 times as large. A pixel costs 15 instructions.
 */
#include "nncc_dsp_core.h"

#if !NNCC_DSP_ASM

/* For functions that interleave. */
#define NNCC_INTERLEAVING NNCC_DSP_AS_WRITTEN

/* A pixel: the words of its channels lie `apart` words apart, mask is 0xff00ff00. */
NNCC_INLINED void nncc_dsp_interleave_pixel(const int8_t *upper, const int8_t *lower, uint32_t mask, int32_t apart,
                                            int32_t *to)
{
    const uint32_t b = (uint32_t)nncc_dsp_load4(lower);
    const uint32_t a = (uint32_t)nncc_dsp_load4(upper);
    const uint32_t low = (uint32_t)nncc_dsp_lows((int32_t)a, (int32_t)b);
    const uint32_t high = (uint32_t)nncc_dsp_highs((int32_t)a, (int32_t)b);

    to[0] = (int32_t)((low << 8) & mask);
    to[apart] = (int32_t)(low & mask);
    to[2 * apart] = (int32_t)((high << 8) & mask);
    to[3 * apart] = (int32_t)(high & mask);
}

/* So many pixels, whose words follow each other. The steps of lines may be 0. */
NNCC_INLINED void nncc_dsp_interleave(const int8_t *upper, int32_t upper_step, const int8_t *lower, int32_t lower_step,
                                      int32_t pixels, int32_t apart, int32_t *to)
{
    NNCC_DSP_ROLLED
    for (; pixels > 0; pixels--) {
        nncc_dsp_interleave_pixel(upper, lower, 0xff00ff00u, apart, to);
        upper += upper_step;
        lower += lower_step;
        to += 4 * apart;
    }
}

#else

#define NNCC_INTERLEAVING

#endif
