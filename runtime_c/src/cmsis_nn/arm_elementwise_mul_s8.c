/* Product of two int8 tensors. */
#include "nncc_cmsis.h"

arm_cmsis_nn_status arm_elementwise_mul_s8(
    const int8_t *input_1_vect, const int8_t *input_2_vect, const int32_t input_1_offset,
    const int32_t input_2_offset, int8_t *output, const int32_t out_offset, const int32_t out_mult,
    const int32_t out_shift, const int32_t out_activation_min, const int32_t out_activation_max,
    const int32_t block_size)
{
    const cmsis_nn_activation act = {out_activation_min, out_activation_max};
    int32_t i;

    for (i = 0; i < block_size; i++)
    {
        const int32_t product = (input_1_vect[i] + input_1_offset) * (input_2_vect[i] + input_2_offset);

        output[i] = nncc_output((uint32_t)product, out_mult, out_shift, out_offset, &act);
    }
    return ARM_CMSIS_NN_SUCCESS;
}
