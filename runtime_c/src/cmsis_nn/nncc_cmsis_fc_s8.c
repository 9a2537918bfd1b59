/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_fc_s8.h"

void nncc_cmsis_fc_s8(const cmsis_nn_fc_params *params, const int32_t *multiplier, const int32_t *shift,
                      int32_t quant_step, const int8_t *in, int32_t rows, int32_t depth, const int8_t *w,
                      const int32_t *bias, int32_t cols, int8_t *out)
{
    int32_t block;

    for (int32_t r = 0; r < rows; r++) {
        uint32_t common = 0; /* what the filter offset adds to every output */

        if (params->filter_offset != 0) {
            for (int32_t i = 0; i < depth; i++) {
                common += (uint32_t)(in[i] + params->input_offset);
            }
            common *= (uint32_t)params->filter_offset;
        }
        for (int32_t col = 0; col < cols; col += block) {
            const int8_t *rows4[4];
            uint32_t acc[4];

            block = nncc_min(4, cols - col);
            nncc_block4(w + col * depth, depth, block, bias != NULL ? bias + col : NULL, rows4, acc);
            nncc_cmsis_dot4(in, depth, params->input_offset, rows4, 0, acc);
            for (int32_t j = 0; j < 4; j++) {
                acc[j] += common;
            }
            out = nncc_cmsis_store(acc, block, multiplier + col * quant_step, shift + col * quant_step, quant_step,
                                   params->output_offset, &params->activation, out);
        }
        in += depth;
    }
}
