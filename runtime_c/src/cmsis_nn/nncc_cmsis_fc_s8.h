/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The matrix product behind the fully connected layers and arm_batch_matmul_s8. */
#include "nncc_cmsis.h"

/* out[r][j] = requantised sum over i of (in[r][i] + input_offset) * (w[j][i] +
 * filter_offset), plus bias[j], for "rows" rows of "depth" values and "cols"
 * outputs. quant_step is 1 where multiplier and shift are per output, else 0. */
void nncc_cmsis_fc_s8(const cmsis_nn_fc_params *params, const int32_t *multiplier, const int32_t *shift,
                      int32_t quant_step, const int8_t *in, int32_t rows, int32_t depth, const int8_t *w,
                      const int32_t *bias, int32_t cols, int8_t *out);
