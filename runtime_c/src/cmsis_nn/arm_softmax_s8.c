/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_softmax.h"

void arm_softmax_s8(const int8_t *input, const int32_t num_rows, const int32_t row_size, const int32_t mult,
                    const int32_t shift, const int32_t diff_min, int8_t *output)
{
    for (int32_t row = 0; row < num_rows; row++) {
        int32_t scale, headroom;
        const int32_t top = nncc_softmax_row(input, row_size, mult, shift, diff_min, &scale, &headroom);
        const int32_t out_shift = NNCC_SOFTMAX_ACCUM_BITS + 23 - headroom;

        for (int32_t i = 0; i < row_size; i++) {
            int32_t v = NN_Q7_MIN;

            if (input[i] - top >= diff_min) {
                v += nncc_div_pow2(nncc_apart_mult(scale, nncc_softmax_term(input[i] - top, mult, shift)), out_shift);
                v = nncc_min(nncc_max(v, NN_Q7_MIN), NN_Q7_MAX);
            }
            output[i] = (int8_t)v;
        }
        input += row_size;
        output += row_size;
    }
}
