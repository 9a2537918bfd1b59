/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The end of convolutions and fully connected layers. */
#include "nncc_cmsis.h"

int8_t *nncc_cmsis_store(const uint32_t *acc, int32_t n, const int32_t *multiplier, const int32_t *shift,
                         int32_t quant_step, int32_t offset, const cmsis_nn_activation *act, int8_t *out)
{
    const int32_t lo = act->min;
    const int32_t hi = act->max;

    for (; n > 0; n--) {
        const int32_t v = nncc_requantize((int32_t)*acc++, *multiplier, *shift) + offset;

        *out++ = (int8_t)nncc_min(nncc_max(v, lo), hi);
        multiplier += quant_step;
        shift += quant_step;
    }
    return out;
}
