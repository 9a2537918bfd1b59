/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Row sums of a filter times the input offset, plus the bias: what the MVE
 * kernels of CMSIS-NN expect in ctx of a fully connected layer. */
#include "nncc_cmsis.h"

arm_cmsis_nn_status arm_vector_sum_s8(int32_t *vector_sum_buf, const int32_t vector_cols, const int32_t vector_rows,
                                      const int8_t *vector_data, const int32_t lhs_offset, const int32_t rhs_offset,
                                      const int32_t *bias_data)
{
    int32_t i, j;

    for (i = 0; i < vector_rows; i++) {
        int32_t sum = vector_cols * rhs_offset;

        for (j = 0; j < vector_cols; j++) {
            sum += vector_data[j];
        }
        vector_sum_buf[i] = (int32_t)((uint32_t)sum * (uint32_t)lhs_offset);
        if (bias_data != NULL) {
            vector_sum_buf[i] = (int32_t)((uint32_t)vector_sum_buf[i] + (uint32_t)bias_data[i]);
        }
        vector_data += vector_cols;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
