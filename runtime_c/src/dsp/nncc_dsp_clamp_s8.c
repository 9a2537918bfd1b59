/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#define NNCC_DSP_INTRINSICS
#include "nncc_dsp_core.h"

void nncc_dsp_clamp_s8(int32_t count, uint32_t low, uint32_t cap, int8_t *y)
{
    const int32_t base = nncc_dsp_byte((int32_t)(low & 255u));

#if NNCC_DSP_ACLE
    const uint32_t below = low ^ 0x80808080u, bias = nncc_dsp_bias(low, cap);

    for (; count >= 4; count -= 4) {
        uint32_t v = (uint32_t)nncc_dsp_load4(y) ^ 0x80808080u;

        v = nncc_dsp_clamped(__uqsub8(v, below), bias, cap);
        memcpy(y, &v, sizeof v);
        y += 4;
    }
#endif
    for (; count > 0; count--) {
        *y = nncc_dsp_clamp(*y - base, low, cap);
        y++;
    }
}
