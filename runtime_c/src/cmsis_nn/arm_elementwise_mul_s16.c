/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_s16.h"

arm_cmsis_nn_status arm_elementwise_mul_s16(const int16_t *input_1_vect, const int16_t *input_2_vect,
                                            const int32_t input_1_offset, const int32_t input_2_offset, int16_t *output,
                                            const int32_t out_offset, const int32_t out_mult, const int32_t out_shift,
                                            const int32_t out_activation_min, const int32_t out_activation_max,
                                            const int32_t block_size)
{
    const cmsis_nn_activation act = {out_activation_min, out_activation_max};

    (void)input_1_offset;
    (void)input_2_offset;
    (void)out_offset;
    for (int32_t i = 0; i < block_size; i++) {
        output[i] = nncc_output_s16(input_1_vect[i] * input_2_vect[i], out_mult, out_shift, &act);
    }
    return ARM_CMSIS_NN_SUCCESS;
}
