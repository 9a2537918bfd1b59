/* Scratch bytes of arm_convolve_wrapper_s4: none. */
#include "nncc_cmsis.h"

int32_t arm_convolve_wrapper_s4_get_buffer_size(
    const cmsis_nn_conv_params *conv_params, const cmsis_nn_dims *input_dims,
    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims)
{
    (void)conv_params;
    (void)input_dims;
    (void)filter_dims;
    (void)output_dims;
    return 0;
}
