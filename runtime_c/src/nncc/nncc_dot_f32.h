/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dot_f32.h: the inner loop of the float32 convolutions and matrix products (nncc_dot_f32.c). */
#include <stdint.h>

/*
 * acc[j] += sum over i of x[i] * w[j * w_stride + i], for j < lanes (1 or 4) and i < n.
 * Each acc[j] adds its products one by one in ascending i, fused where a core has the instruction; with Helium it is
 * added to the sum of four such sums, of every fourth product each. The result does not depend on lanes.
 */
void nncc_dot_f32(const float *x, const float *w, int32_t w_stride, int32_t n, int32_t lanes, float *acc);

/* Limits v to [lo, hi]; NaN stays NaN. */
static inline float nncc_clamp_f32(float v, float lo, float hi)
{
    if (v < lo) {
        v = lo;
    }
    if (v > hi) {
        v = hi;
    }
    return v;
}
