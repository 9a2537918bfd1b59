/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The inner loop of convolutions and fully connected layers with int4 filters. */
#include "nncc_cmsis_s4.h"

uint32_t nncc_cmsis_dot_s4(const int8_t *in, int32_t len, int32_t offset, const int8_t *w, int32_t at)
{
    uint32_t sum = 0;

    if (len > 0 && (at & 1) != 0) {
        sum += (uint32_t)((*in++ + offset) * nncc_s4(w, at));
        at++;
        len--;
    }
    /* Counted by itself: of a loop that takes 2 off len, GCC 12 at -Os for Helium forgets what is left. */
    w += at >> 1;
    for (int32_t pairs = len / 2; pairs > 0; pairs--) {
        const int32_t pair = *w++;

        sum += (uint32_t)((in[0] + offset) * (((pair & 15) ^ 8) - 8));
        sum += (uint32_t)((in[1] + offset) * (pair >> 4));
        in += 2;
    }
    if (len > 0 && (len & 1) != 0) {
        sum += (uint32_t)((*in + offset) * nncc_s4(w, 0));
    }
    return sum;
}
