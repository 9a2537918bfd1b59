/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis.h"

arm_cmsis_nn_status arm_elementwise_mul_s8(const int8_t *input_1_vect, const int8_t *input_2_vect,
                                           const int32_t input_1_offset, const int32_t input_2_offset, int8_t *output,
                                           const int32_t out_offset, const int32_t out_mult, const int32_t out_shift,
                                           const int32_t out_activation_min, const int32_t out_activation_max,
                                           const int32_t block_size)
{
    const int32_t left = nncc_max(out_shift, 0);
    const int32_t right =
        nncc_min(nncc_max(-out_shift, 0), 22); /* the product has 17 bits: more leave nothing, either */
    const int32_t fix = right > 0 ? -1 : 0;    /* ties go away from zero */
    const int32_t add = (right > 0 ? (int32_t)(1u << (right - 1)) : 0) + out_offset * (int32_t)(1u << right);
    int32_t i = block_size;

    if (i <= 0) {
        return ARM_CMSIS_NN_SUCCESS;
    }
    do {
        const int32_t product = (*input_1_vect++ + input_1_offset) * (*input_2_vect++ + input_2_offset);
#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
        const int32_t v = nncc_requantize(product, out_mult, out_shift) + out_offset;

        (void)left;
        (void)fix;
        (void)add;
#else
        const int32_t high = nncc_high_mult((int32_t)((uint32_t)product << left), out_mult);
        const int32_t v = (int32_t)((uint32_t)high + (uint32_t)((high >> 31) & fix) + (uint32_t)add) >> right;
#endif
        *output++ = (int8_t)nncc_min(nncc_max(v, out_activation_min), out_activation_max);
    } while (--i > 0);
    return ARM_CMSIS_NN_SUCCESS;
}
