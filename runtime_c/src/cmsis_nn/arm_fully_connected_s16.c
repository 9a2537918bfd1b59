/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_s16.h"

arm_cmsis_nn_status arm_fully_connected_s16(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
                                            const cmsis_nn_per_tensor_quant_params *quant_params,
                                            const cmsis_nn_dims *input_dims, const int16_t *input_data,
                                            const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                            const cmsis_nn_dims *bias_dims, const int64_t *bias_data,
                                            const cmsis_nn_dims *output_dims, int16_t *output_data)
{
    const int32_t depth = filter_dims->n;
    const int32_t cols = output_dims->c;

    (void)ctx;
    (void)bias_dims;
    for (int32_t r = 0; r < input_dims->n; r++) {
        for (int32_t c = 0; c < cols; c += 4) {
            const int32_t block = nncc_min(4, cols - c);
            const int8_t *w[4];
            int64_t acc[4];

            for (int32_t j = 0; j < 4; j++) {
                w[j] = filter_data + (c + nncc_min(j, block - 1)) * depth;
                acc[j] = bias_data != NULL && j < block ? bias_data[c + j] : 0;
            }
            nncc_cmsis_dot4_s16(input_data, depth, w, 0, acc);
            for (int32_t j = 0; j < block; j++) {
                *output_data++ =
                    nncc_output_s64(acc[j], quant_params->multiplier, quant_params->shift, &fc_params->activation);
            }
        }
        input_data += depth;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
