/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The inner loop of the int16 depthwise convolution. */
#include "nncc_cmsis_s16.h"

int64_t nncc_cmsis_dot_s16(const int16_t *in, int32_t in_step, const int8_t *w, int32_t w_step, int32_t len)
{
    int64_t sum = 0;

    while (len > 0) {
        const int32_t run = nncc_min(len, NNCC_S16_RUN);
        int32_t part = 0;

        for (int32_t i = 0; i < run; i++) {
            part += *in * *w;
            in += in_step;
            w += w_step;
        }
        sum += part;
        len -= run;
    }
    return sum;
}
