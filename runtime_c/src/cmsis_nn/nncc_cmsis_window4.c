/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The inner loop of the depthwise convolution. */
#include "nncc_cmsis_window.h"

void nncc_cmsis_window4(const nncc_window_taps *t, int32_t c, int32_t offset, uint32_t acc[4])
{
    const int8_t *in = t->in + c;
    const int8_t *w = t->filter + c;
    uint32_t a0 = acc[0];
    uint32_t a1 = acc[1];
    uint32_t a2 = acc[2];
    uint32_t a3 = acc[3];

    for (int32_t ky = t->rows; ky > 0; ky--) {
        for (int32_t kx = t->cols; kx > 0; kx--) {
            a0 += (uint32_t)((in[0] + offset) * w[0]);
            a1 += (uint32_t)((in[1] + offset) * w[1]);
            a2 += (uint32_t)((in[2] + offset) * w[2]);
            a3 += (uint32_t)((in[3] + offset) * w[3]);
            in += t->in_dx;
            w += t->filter_dx;
        }
        in += t->in_dy;
        w += t->filter_dy;
    }
    acc[0] = a0;
    acc[1] = a1;
    acc[2] = a2;
    acc[3] = a3;
}
