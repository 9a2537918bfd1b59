/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_s4.h"

arm_cmsis_nn_status arm_convolve_s4(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *conv_params,
                                    const cmsis_nn_per_channel_quant_params *quant_params,
                                    const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                    const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                    const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                    const cmsis_nn_dims *output_dims, int8_t *output_data)
{
    const int32_t in_w = input_dims->w;
    const int32_t in_c = input_dims->c;
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
                int32_t kx0, kx1, len, step, oc;

                nncc_cut_window(x, in_w, k_w, dil_x, &kx0, &kx1);
                /* A kernel row is one run of elements unless dilation parts it. */
                step = dil_x == 1 ? nncc_max(1, kx1 - kx0) : 1;
                len = step * in_c;
                for (oc = 0; oc < output_dims->c; oc++) {
                    uint32_t acc = bias_data != NULL ? (uint32_t)bias_data[oc] : 0u;
                    int32_t ky, kx;

                    for (ky = ky0; ky < ky1; ky++) {
                        for (kx = kx0; kx < kx1; kx += step) {
                            acc += nncc_cmsis_dot_s4(input_data + ((y + ky * dil_y) * in_w + x + kx * dil_x) * in_c,
                                                     len, conv_params->input_offset, filter_data,
                                                     oc * filter_size + (ky * k_w + kx) * in_c);
                        }
                    }
                    *output_data++ = nncc_output(acc, quant_params->multiplier[oc], quant_params->shift[oc],
                                                 conv_params->output_offset, &conv_params->activation);
                }
            }
        }
        input_data += input_dims->h * in_w * in_c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
