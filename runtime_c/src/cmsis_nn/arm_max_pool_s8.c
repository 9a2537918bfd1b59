/* Largest element over the part of an int8 window that lies inside the input. */
#define NNCC_ELEM int8_t
#define NNCC_ELEM_BITS 8
#define NNCC_POOL nncc_max_pool_s8
#include "nncc_cmsis_max_pool.h"

arm_cmsis_nn_status arm_max_pool_s8(
    const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params, const cmsis_nn_dims *input_dims,
    const int8_t *input_data, const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
    int8_t *output_data)
{
    (void)ctx;
    return nncc_max_pool_s8(pool_params, input_dims, input_data, filter_dims, output_dims, output_data);
}
