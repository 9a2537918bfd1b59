/* Scratch bytes of arm_transpose_conv_s8: none. */
#include "nncc_cmsis.h"

int32_t arm_transpose_conv_s8_get_reverse_conv_buffer_size(
    const cmsis_nn_transpose_conv_params *transposed_conv_params, const cmsis_nn_dims *input_dims,
    const cmsis_nn_dims *filter_dims)
{
    (void)transposed_conv_params;
    (void)input_dims;
    (void)filter_dims;
    return 0;
}
