/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_s4.h"

arm_cmsis_nn_status arm_fully_connected_s4(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
                                           const cmsis_nn_per_tensor_quant_params *quant_params,
                                           const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                           const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                           const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                           const cmsis_nn_dims *output_dims, int8_t *output_data)
{
    const int32_t depth = filter_dims->n;

    (void)ctx;
    (void)bias_dims;
    for (int32_t r = 0; r < input_dims->n; r++) {
        for (int32_t c = 0; c < output_dims->c; c++) {
            const uint32_t acc = (bias_data != NULL ? (uint32_t)bias_data[c] : 0u) +
                                 nncc_cmsis_dot_s4(input_data, depth, fc_params->input_offset, filter_data, c * depth);

            *output_data++ = nncc_output(acc, quant_params->multiplier, quant_params->shift, fc_params->output_offset,
                                         &fc_params->activation);
        }
        input_data += depth;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
