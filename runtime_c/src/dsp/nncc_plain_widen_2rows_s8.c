/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_core.h"

int32_t *nncc_plain_widen_2rows_s8(const nncc_dsp_runs *r, const int8_t *a, const int8_t *b, int32_t *x)
{
    const int32_t n = r->length;

    for (int32_t left = r->count; left > 0; left--) {
        for (int32_t i = 0; i < n; i++) {
#if NNCC_THUMB1
            *x++ = b[i] * 0x10000 + a[i];
#else
            *x++ = a[i];
            *x++ = b[i];
#endif
        }
        if ((n & 1) != 0) {
            *x++ = 0;
#if !NNCC_THUMB1
            *x++ = 0;
#endif
        }
        a += r->step;
        b += r->step;
    }
    return x;
}
