/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_interleave.h: pixels of two lines as words for the depthwise kernels, in intrinsics: the words of four
 * channels hold the upper pixel below the lower one, 256 times as large. A pixel costs 15 instructions.
 */
#include "nncc_dsp_core.h"

#if !NNCC_DSP_ASM

/* For functions that interleave. */
#define NNCC_INTERLEAVING NNCC_DSP_AS_WRITTEN

/*
 * A constant that GCC does not know, so that it stays in a register where an instruction could have it, and
 * instructions that shift another operand take it.
 */
static inline uint32_t nncc_dsp_in_register(uint32_t v)
{
#if NNCC_DSP_ACLE && defined(__GNUC__) && !defined(__clang__)
    return __uhadd8(v, v);
#else
    return v;
#endif
}

/* A pixel: the words of its channels lie `apart` words apart, mask is 0xff00ff00. */
NNCC_INLINED void nncc_dsp_interleave_pixel(const int8_t *upper, const int8_t *lower, uint32_t mask, int32_t apart,
                                            int32_t *to)
{
    const uint32_t b = (uint32_t)nncc_dsp_load4(lower);
#if defined(__GNUC__) && !defined(__clang__)
    /* The halves of the upper pixel come from memory: GCC has no PKHBT, but BFI. */
    uint16_t first, second;
    uint32_t low, high = b;

    memcpy(&first, upper, sizeof first);
    memcpy(&second, upper + 2, sizeof second);
    low = first | (b << 16);
    memcpy(&high, &second, sizeof second);
#else
    const uint32_t a = (uint32_t)nncc_dsp_load4(upper);
    const uint32_t low = (uint32_t)nncc_dsp_lows((int32_t)a, (int32_t)b);
    const uint32_t high = (uint32_t)nncc_dsp_highs((int32_t)a, (int32_t)b);
#endif

    to[0] = (int32_t)((low << 8) & mask);
    to[apart] = (int32_t)(low & mask);
    to[2 * apart] = (int32_t)((high << 8) & mask);
    to[3 * apart] = (int32_t)(high & mask);
}

/* So many pixels, whose words follow each other. The steps of lines may be 0. */
NNCC_INLINED void nncc_dsp_interleave(const int8_t *upper, int32_t upper_step, const int8_t *lower, int32_t lower_step,
                                      int32_t pixels, int32_t apart, int32_t *to)
{
    const uint32_t mask = nncc_dsp_in_register(0xff00ff00u);
    int32_t left = pixels;

    if ((left & 1) != 0) {
        nncc_dsp_interleave_pixel(upper, lower, mask, apart, to);
        upper += upper_step;
        lower += lower_step;
        to += 4 * apart;
        left--;
    }
    if (left > 0) {
        NNCC_DSP_ROLLED do
        {
            nncc_dsp_interleave_pixel(upper, lower, mask, apart, to);
            upper += upper_step;
            lower += lower_step;
            nncc_dsp_interleave_pixel(upper, lower, mask, apart, to + 4 * apart);
            upper += upper_step;
            lower += lower_step;
            to += 8 * apart;
            left -= 2;
        }
        while (left != 0)
            ;
    }
}

#else

#define NNCC_INTERLEAVING

#endif
