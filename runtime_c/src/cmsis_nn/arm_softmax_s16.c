/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_softmax.h"

/* The value at v of straight lines between 513 points, 128 inputs apart. */
static inline int16_t softmax_interpolate(const int16_t *table, int32_t v)
{
    const int16_t *p = table + 256 + (v >> 7);
    const int16_t slope = (int16_t)(p[1] - p[0]);
    const int16_t delta = (int16_t)((slope * (v & 0x7f) + 64) >> 7);

    return (int16_t)(p[0] + delta);
}

arm_cmsis_nn_status arm_softmax_s16(const int16_t *input, const int32_t num_rows, const int32_t row_size,
                                    const int32_t mult, const int32_t shift,
                                    const cmsis_nn_softmax_lut_s16 *softmax_params, int16_t *output)
{
    int32_t row, i;

    if (softmax_params->exp_lut == NULL || softmax_params->one_by_one_lut == NULL) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (row = 0; row < num_rows; row++) {
        int32_t top = input[0];
        uint32_t sum = 0;
        int32_t headroom, scale;

        for (i = 1; i < row_size; i++) {
            top = nncc_max(top, input[i]);
        }
        for (i = 0; i < row_size; i++) {
            /* What wraps to a positive value counts as 0: the sum neither overflows nor exceeds int16. */
            const int32_t v = nncc_requantize(input[i] - top, mult, shift);
            const int32_t d = (v & (v >> 31)) + NN_Q15_MAX;
            const int32_t e = softmax_interpolate(softmax_params->exp_lut, nncc_max(d, NN_Q15_MIN));

            output[i] = (int16_t)e;
            sum += (uint32_t)e;
        }
        headroom = nncc_leading_zeros(sum);
        if (headroom > 30) /* the table's exp(0) is not even 2: no table of this function */
        {
            return ARM_CMSIS_NN_ARG_ERROR;
        }
        /* sum scaled to [1, 2) with 16 bits behind the point, less 1.5 */
        scale = softmax_interpolate(softmax_params->one_by_one_lut,
                                    (int16_t)((int32_t)(((sum << (headroom - 1)) + (1u << 13)) >> 14) - 98304));
        for (i = 0; i < row_size; i++) {
            output[i] = (int16_t)((((output[i] * scale) >> (30 - headroom)) + 1) >> 1);
        }
        input += row_size;
        output += row_size;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
