/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_dot4: four dot products of one input. A function of its own, since the loop needs every register. */
#include "mla_dot4.h"

void mla_dot4(const int8_t *x, int32_t n, int32_t offset, const int8_t *const w[4], int32_t at, uint32_t acc[4])
{
    const int8_t *w0 = w[0] + at;
    const int8_t *w1 = w[1] + at;
    const int8_t *w2 = w[2] + at;
    const int8_t *w3 = w[3] + at;
    uint32_t a0 = acc[0];
    uint32_t a1 = acc[1];
    uint32_t a2 = acc[2];
    uint32_t a3 = acc[3];

    for (int32_t i = 0; i < n; i++) {
        const int32_t v = x[i] + offset;

        a0 += (uint32_t)(v * w0[i]);
        a1 += (uint32_t)(v * w1[i]);
        a2 += (uint32_t)(v * w2[i]);
        a3 += (uint32_t)(v * w3[i]);
    }
    acc[0] = a0;
    acc[1] = a1;
    acc[2] = a2;
    acc[3] = a3;
}
