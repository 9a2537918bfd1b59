/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_fft_s32.h: the transform of one frame in fixed point, as ir/qref (own_fft_fixed.go) defines it. */
#include "nncc_f32.h"

/* v / 2^by, rounded half up. */
static inline int32_t nncc_shift_half_up(int32_t v, int32_t by)
{
    return by == 0 ? v : ((v >> (by - 1)) + 1) >> 1;
}

/*
 * x: the frame's samples [length]; other: room for as much. Where length is odd, both have twice as much, a sample and
 * a zero in turn. Both are overwritten. y: a row of the result.
 */
void nncc_fft_s32(const nncc_spectrum_params *p, const int16_t *twiddle, int32_t *x, int32_t *other, float *y);
