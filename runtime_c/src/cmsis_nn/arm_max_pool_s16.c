/* Largest element over the part of an int16 window that lies inside the input. */
#define NNCC_ELEM int16_t
#define NNCC_ELEM_BITS 16
#define NNCC_POOL nncc_max_pool_s16
#include "nncc_cmsis_max_pool.h"

arm_cmsis_nn_status arm_max_pool_s16(
    const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params, const cmsis_nn_dims *input_dims,
    const int16_t *input_data, const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
    int16_t *output_data)
{
    (void)ctx;
    return nncc_max_pool_s16(pool_params, input_dims, input_data, filter_dims, output_dims, output_data);
}
