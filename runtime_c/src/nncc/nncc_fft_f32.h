/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_fft_f32.h: the transform of one frame, as ir/qref (own_fft.go) defines it. */
#include "nncc_f32.h"

/*
 * half: halves of the frame's samples [length]; other: room for as much. Where length is odd, both have twice as much,
 * a sample and a zero in turn. Both are overwritten. y: a row of the result.
 */
void nncc_fft_f32(const nncc_spectrum_params *p, const float *twiddle, float *half, float *other, float *y);
