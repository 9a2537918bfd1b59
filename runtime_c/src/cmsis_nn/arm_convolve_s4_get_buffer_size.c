/* Scratch bytes of arm_convolve_s4: none. */
#include "nncc_cmsis.h"

int32_t arm_convolve_s4_get_buffer_size(
    const cmsis_nn_dims *input_dims, const cmsis_nn_dims *filter_dims)
{
    (void)input_dims;
    (void)filter_dims;
    return 0;
}
