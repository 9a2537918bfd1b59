/* Average over the part of an int16 window that lies inside the input. */
#define NNCC_ELEM int16_t
#define NNCC_POOL nncc_avgpool_s16
#include "nncc_cmsis_avgpool.h"

arm_cmsis_nn_status arm_avgpool_s16(
    const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params, const cmsis_nn_dims *input_dims,
    const int16_t *input_data, const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
    int16_t *output_data)
{
    (void)ctx;
    return nncc_avgpool_s16(pool_params, input_dims, input_data, filter_dims, output_dims, output_data);
}
