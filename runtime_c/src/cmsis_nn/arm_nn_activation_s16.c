/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis.h"
#include "nncc_sigmoid_points.h"

arm_cmsis_nn_status arm_nn_activation_s16(const int16_t *input, int16_t *output, const int32_t size,
                                          const int32_t left_shift, const arm_nn_activation_type type)
{
    /* tanh(x) = 2 sigmoid(2x) - 1: half the step, twice the scale */
    const uint32_t step_bits = type == ARM_SIGMOID ? 9u : 8u;
    const int32_t multiplier = left_shift < 0 ? 3 : (int32_t)(3u << left_shift);
    const int32_t right_shift = left_shift < 0 ? -left_shift : 0;
    const int32_t rounding = right_shift > 0 ? 1 << (right_shift - 1) : 0;

    for (int32_t i = 0; i < size; i++) {
        const int32_t x = (int32_t)((uint32_t)input[i] * (uint32_t)multiplier + (uint32_t)rounding) >> right_shift;
        const uint32_t magnitude = x > 0 ? (uint32_t)x : 0u - (uint32_t)x;
        const uint32_t at = magnitude >> step_bits;
        uint32_t r;

        if (at >= 255u) {
            r = type == ARM_SIGMOID ? (uint32_t)0x7FFF << 10 : (uint32_t)0xFFFF << 8;
        } else {
            const uint32_t low = nncc_sigmoid_points[at];
            const uint32_t high = nncc_sigmoid_points[at + 1u];

            r = (low << step_bits) + (magnitude & ((1u << step_bits) - 1u)) * (high - low);
        }
        if (type == ARM_SIGMOID) {
            r = (x >= 0 ? r + (1u << 9) : (1u << 25) - r + (1u << 9) - 1u) >> 10;
        } else {
            r = (x >= 0 ? r - (1u << 23) + (1u << 7) : (1u << 23) - r + (1u << 7) - 1u) >> 8;
        }
        output[i] = (int16_t)(r & 0xFFFFu);
    }
    return ARM_CMSIS_NN_SUCCESS;
}
