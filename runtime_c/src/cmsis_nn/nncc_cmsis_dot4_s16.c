/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The inner loop of int16 convolutions and fully connected layers. */
#include "nncc_cmsis_s16.h"

void nncc_cmsis_dot4_s16(const int16_t *in, int32_t len, const int8_t *const w[4], int32_t at, int64_t acc[4])
{
    const int8_t *w0 = w[0] + at;
    const int8_t *w1 = w[1] + at;
    const int8_t *w2 = w[2] + at;
    const int8_t *w3 = w[3] + at;

    while (len > 0) {
        const int32_t run = nncc_min(len, NNCC_S16_RUN);
        int32_t a0 = 0;
        int32_t a1 = 0;
        int32_t a2 = 0;
        int32_t a3 = 0;

        for (int32_t i = 0; i < run; i++) {
            const int32_t x = *in++;

            a0 += x * *w0++;
            a1 += x * *w1++;
            a2 += x * *w2++;
            a3 += x * *w3++;
        }
        acc[0] += a0;
        acc[1] += a1;
        acc[2] += a2;
        acc[3] += a3;
        len -= run;
    }
}
