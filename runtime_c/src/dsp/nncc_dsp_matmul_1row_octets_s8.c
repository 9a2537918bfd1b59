/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_matmul_1row_octets_s8: one pixel times narrow weights, eight channels at a time, in two halves. GCC makes of
 * intrinsics no more instructions than there were in assembly.
 */
#define NNCC_DSP_INTRINSICS
#include "nncc_dsp_core.h"

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
