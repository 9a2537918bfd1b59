/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_core.h"

int32_t *nncc_plain_widen_sums_s8(const nncc_dsp_runs *r, const int8_t *a, const int8_t *b, int32_t *x)
{
    const int32_t n = r->length;

    for (int32_t left = r->count; left > 0; left--) {
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
        a += r->step;
        b += r->step;
    }
    return x;
}
