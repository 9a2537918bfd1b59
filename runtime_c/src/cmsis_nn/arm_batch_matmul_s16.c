/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_s16.h"

static int64_t dot_s16(const int16_t *a, const int16_t *b, int32_t len)
{
    int64_t sum = 0;

    for (; len > 0; len--) {
        sum += *a++ * *b++;
    }
    return sum;
}

arm_cmsis_nn_status arm_batch_matmul_s16(const cmsis_nn_context *ctx, const cmsis_nn_bmm_params *bmm_params,
                                         const cmsis_nn_per_tensor_quant_params *quant_params,
                                         const cmsis_nn_dims *input_lhs_dims, const int16_t *input_lhs,
                                         const cmsis_nn_dims *input_rhs_dims, const int16_t *input_rhs,
                                         const cmsis_nn_dims *output_dims, int16_t *output)
{
    const int32_t depth = input_rhs_dims->c;
    const int32_t rows = input_lhs_dims->w;
    const int32_t cols = input_rhs_dims->w;
    int32_t n, h, r, c;

    (void)ctx;
    for (n = 0; n < output_dims->n; n++) {
        const int32_t left_n = input_lhs_dims->n == 1 ? 0 : n;
        const int32_t right_n = input_rhs_dims->n == 1 ? 0 : n;

        for (h = 0; h < output_dims->h; h++) {
            const int32_t left_h = left_n * input_lhs_dims->h + (input_lhs_dims->h == 1 ? 0 : h);
            const int32_t right_h = right_n * input_rhs_dims->h + (input_rhs_dims->h == 1 ? 0 : h);
            const int16_t *left = input_lhs + left_h * rows * depth;
            const int16_t *right = input_rhs + right_h * cols * depth;

            for (r = 0; r < rows; r++) {
                for (c = 0; c < cols; c++) {
                    *output++ =
                        nncc_output_s64(dot_s16(left + r * depth, right + c * depth, depth), quant_params->multiplier,
                                        quant_params->shift, &bmm_params->fc_params.activation);
                }
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
