/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dot_f32: dot products of one vector with one or four rows. */
#include "nncc_fp.h"

#include "nncc_dot_f32.h"
#include "nncc_f32_dots.h"

void nncc_dot_f32(const float *x, const float *w, int32_t w_stride, int32_t n, int32_t lanes, float *acc)
{
    if (lanes == 4) {
        const float *w1 = w + w_stride;
        const float *w2 = w1 + w_stride;

        nncc_f32_dot4(x, w, w1, w2, w2 + w_stride, n, acc);
    } else {
        nncc_f32_dot1(x, w, n, acc);
    }
}
