/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_s16.h"

/* The output of channel c from its sum of products, by either kind of bias. */
static inline int16_t conv_s16_output(const cmsis_nn_bias_data *bias, const cmsis_nn_per_channel_quant_params *quant,
                                      const cmsis_nn_activation *act, int32_t c, int64_t acc)
{
    if (bias->is_int32_bias) {
        const int32_t *b = (const int32_t *)bias->data;
        const uint32_t sum = (uint32_t)(uint64_t)acc + (b != NULL ? (uint32_t)b[c] : 0u);

        return nncc_output_s16((int32_t)sum, quant->multiplier[c], quant->shift[c], act);
    }
    if (bias->data != NULL) {
        acc += ((const int64_t *)bias->data)[c];
    }
    return nncc_output_s64(acc, quant->multiplier[c], quant->shift[c], act);
}

arm_cmsis_nn_status arm_convolve_s16(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *conv_params,
                                     const cmsis_nn_per_channel_quant_params *quant_params,
                                     const cmsis_nn_dims *input_dims, const int16_t *input_data,
                                     const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                     const cmsis_nn_dims *bias_dims, const cmsis_nn_bias_data *bias_data,
                                     const cmsis_nn_dims *output_dims, int16_t *output_data)
{
    const int32_t in_w = input_dims->w;
    const int32_t in_c = input_dims->c;
    const int32_t out_c = output_dims->c;
    const int32_t k_w = filter_dims->w;
    const int32_t dil_x = conv_params->dilation.w;
    const int32_t dil_y = conv_params->dilation.h;
    const int32_t filter_size = filter_dims->h * k_w * in_c;
    int32_t n, oy, ox;

    (void)ctx;
    (void)bias_dims;
    for (n = 0; n < input_dims->n; n++) {
        for (oy = 0; oy < output_dims->h; oy++) {
            const int32_t y = oy * conv_params->stride.h - conv_params->padding.h;
            int32_t ky0, ky1;

            nncc_cut_window(y, input_dims->h, filter_dims->h, dil_y, &ky0, &ky1);
            for (ox = 0; ox < output_dims->w; ox++) {
                const int32_t x = ox * conv_params->stride.w - conv_params->padding.w;
                int32_t kx0, kx1, len, runs, oc;

                nncc_cut_window(x, in_w, k_w, dil_x, &kx0, &kx1);
                /* A kernel row is one run of elements unless dilation parts it. */
                runs = dil_x == 1 ? nncc_min(1, kx1 - kx0) : kx1 - kx0;
                len = dil_x == 1 ? (kx1 - kx0) * in_c : in_c;
                for (oc = 0; oc < out_c; oc += 4) {
                    const int32_t block = nncc_min(4, out_c - oc);
                    const int8_t *first = filter_data + oc * filter_size;
                    const int8_t *w[4];
                    int64_t acc[4] = {0, 0, 0, 0};
                    int32_t ky, j;

                    for (j = 0; j < 4; j++) {
                        w[j] = first + nncc_min(j, block - 1) * filter_size;
                    }
                    for (ky = ky0; ky < ky1; ky++) {
                        for (j = 0; j < runs; j++) {
                            const int32_t kx = kx0 + j;

                            nncc_cmsis_dot4_s16(input_data + ((y + ky * dil_y) * in_w + x + kx * dil_x) * in_c, len, w,
                                                (ky * k_w + kx) * in_c, acc);
                        }
                    }
                    for (j = 0; j < block; j++) {
                        *output_data++ =
                            conv_s16_output(bias_data, quant_params, &conv_params->activation, oc + j, acc[j]);
                    }
                }
            }
        }
        input_data += input_dims->h * in_w * in_c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
