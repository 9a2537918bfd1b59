/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_fc_s8.h"

arm_cmsis_nn_status arm_fully_connected_wrapper_s8(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
                                                   const cmsis_nn_quant_params *quant_params,
                                                   const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                                   const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                                   const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                                   const cmsis_nn_dims *output_dims, int8_t *output_data)
{
    (void)ctx;
    (void)bias_dims;
    nncc_cmsis_fc_s8(fc_params, quant_params->multiplier, quant_params->shift,
                     quant_params->is_per_channel != 0 ? 1 : 0, input_data, input_dims->n, filter_dims->n, filter_data,
                     bias_data, output_dims->c, output_data);
    return ARM_CMSIS_NN_SUCCESS;
}
