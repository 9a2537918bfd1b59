/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_s16.h"

arm_cmsis_nn_status arm_depthwise_conv_s16(const cmsis_nn_context *ctx, const cmsis_nn_dw_conv_params *dw_conv_params,
                                           const cmsis_nn_per_channel_quant_params *quant_params,
                                           const cmsis_nn_dims *input_dims, const int16_t *input,
                                           const cmsis_nn_dims *filter_dims, const int8_t *filter,
                                           const cmsis_nn_dims *bias_dims, const int64_t *bias,
                                           const cmsis_nn_dims *output_dims, int16_t *output)
{
    const int32_t in_w = input_dims->w;
    const int32_t in_c = input_dims->c;
    const int32_t out_c = output_dims->c;
    const int32_t k_w = filter_dims->w;
    const int32_t mult = dw_conv_params->ch_mult;
    const int32_t dil_x = dw_conv_params->dilation.w;
    const int32_t dil_y = dw_conv_params->dilation.h;
    int32_t n, oy, ox;

    (void)ctx;
    (void)bias_dims;
    if (mult <= 0 || in_c * mult != out_c) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (n = 0; n < input_dims->n; n++) {
        for (oy = 0; oy < output_dims->h; oy++) {
            const int32_t y = oy * dw_conv_params->stride.h - dw_conv_params->padding.h;
            int32_t ky0, ky1;

            nncc_cut_window(y, input_dims->h, filter_dims->h, dil_y, &ky0, &ky1);
            for (ox = 0; ox < output_dims->w; ox++) {
                const int32_t x = ox * dw_conv_params->stride.w - dw_conv_params->padding.w;
                int32_t kx0, kx1, oc;

                nncc_cut_window(x, in_w, k_w, dil_x, &kx0, &kx1);
                for (oc = 0; oc < out_c; oc++) {
                    int64_t acc = bias != NULL ? bias[oc] : 0;
                    int32_t ky;

                    for (ky = ky0; kx0 < kx1 && ky < ky1; ky++) {
                        const int16_t *in = input + ((y + ky * dil_y) * in_w + x + kx0 * dil_x) * in_c + oc / mult;

                        acc += nncc_cmsis_dot_s16(in, dil_x * in_c, filter + (ky * k_w + kx0) * out_c + oc, out_c,
                                                  kx1 - kx0);
                    }
                    *output++ = nncc_output_s64(acc, quant_params->multiplier[oc], quant_params->shift[oc],
                                                &dw_conv_params->activation);
                }
            }
        }
        input += input_dims->h * in_w * in_c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
