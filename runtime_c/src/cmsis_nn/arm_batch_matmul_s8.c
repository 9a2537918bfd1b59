/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_fc_s8.h"

/* A matrix times another one, transposed. A single column is taken for the row, the rows for columns: four at a time.
 */
static void product(const cmsis_nn_bmm_params *p, const cmsis_nn_per_tensor_quant_params *q, const int8_t *left,
                    int32_t rows, int32_t depth, const int8_t *right, int32_t cols, int8_t *out)
{
    cmsis_nn_fc_params f = p->fc_params;

    if (cols == 1) {
        f.input_offset = p->fc_params.filter_offset;
        f.filter_offset = p->fc_params.input_offset;
        nncc_cmsis_fc_s8(&f, &q->multiplier, &q->shift, 0, right, 1, depth, left, NULL, rows, out);
    } else {
        nncc_cmsis_fc_s8(&f, &q->multiplier, &q->shift, 0, left, rows, depth, right, NULL, cols, out);
    }
}

arm_cmsis_nn_status arm_batch_matmul_s8(const cmsis_nn_context *ctx, const cmsis_nn_bmm_params *bmm_params,
                                        const cmsis_nn_per_tensor_quant_params *quant_params,
                                        const cmsis_nn_dims *input_lhs_dims, const int8_t *input_lhs,
                                        const cmsis_nn_dims *input_rhs_dims, const int8_t *input_rhs,
                                        const cmsis_nn_dims *output_dims, int8_t *output)
{
    const int32_t depth = input_rhs_dims->c;
    const int32_t rows = input_lhs_dims->w;
    const int32_t cols = input_rhs_dims->w;

    (void)ctx;
    for (int32_t n = 0; n < output_dims->n; n++) {
        const int32_t left_n = input_lhs_dims->n == 1 ? 0 : n;
        const int32_t right_n = input_rhs_dims->n == 1 ? 0 : n;

        for (int32_t h = 0; h < output_dims->h; h++) {
            const int32_t left = left_n * input_lhs_dims->h + (input_lhs_dims->h == 1 ? 0 : h);
            const int32_t right = right_n * input_rhs_dims->h + (input_rhs_dims->h == 1 ? 0 : h);

            product(bmm_params, quant_params, input_lhs + left * rows * depth, rows, depth,
                    input_rhs + right * cols * depth, cols, output);
            output += rows * cols;
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
