/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis.h"

arm_cmsis_nn_status arm_elementwise_add_s8(
    const int8_t *input_1_vect, const int8_t *input_2_vect, const int32_t input_1_offset, const int32_t input_1_mult,
    const int32_t input_1_shift, const int32_t input_2_offset, const int32_t input_2_mult, const int32_t input_2_shift,
    const int32_t left_shift, int8_t *output, const int32_t out_offset, const int32_t out_mult, const int32_t out_shift,
    const int32_t out_activation_min, const int32_t out_activation_max, const int32_t block_size)
{
    const cmsis_nn_activation act = {out_activation_min, out_activation_max};
    int32_t i;

    for (i = 0; i < block_size; i++) {
        const uint32_t a = (uint32_t)(input_1_vect[i] + input_1_offset) << left_shift;
        const uint32_t b = (uint32_t)(input_2_vect[i] + input_2_offset) << left_shift;
        const uint32_t sum = (uint32_t)nncc_requantize((int32_t)a, input_1_mult, input_1_shift) +
                             (uint32_t)nncc_requantize((int32_t)b, input_2_mult, input_2_shift);

        output[i] = nncc_output(sum, out_mult, out_shift, out_offset, &act);
    }
    return ARM_CMSIS_NN_SUCCESS;
}
