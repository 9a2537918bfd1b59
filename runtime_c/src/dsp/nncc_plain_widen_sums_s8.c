/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_core.h"

int32_t *nncc_plain_widen_sums_s8(const int8_t *a, const int8_t *b, int32_t n, int32_t *x)
{
    int32_t s = 0, t = 0;

    for (int32_t i = 0; i < n; i++) {
        s += a[i];
        t += b[i];
        *x++ = a[i];
        *x++ = b[i];
    }
    for (int32_t i = 0; i < 2; i++) {
        *x++ = s;
        *x++ = t;
    }
    return x;
}
