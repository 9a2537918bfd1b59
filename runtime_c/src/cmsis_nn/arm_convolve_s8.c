/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis.h"

arm_cmsis_nn_status arm_convolve_s8(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *conv_params,
                                    const cmsis_nn_per_channel_quant_params *quant_params,
                                    const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                    const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                    const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                    const cmsis_nn_dims *upscale_dims, const cmsis_nn_dims *output_dims,
                                    int8_t *output_data)
{
    const int32_t in_w = input_dims->w;
    const int32_t in_c = input_dims->c;
    const int32_t out_c = output_dims->c;
    const int32_t k_w = filter_dims->w;
    const int32_t k_c = filter_dims->c;
    const int32_t dil_x = conv_params->dilation.w;
    const int32_t dil_y = conv_params->dilation.h;
    const int32_t offset = conv_params->input_offset;
    const int32_t filter_size = filter_dims->h * k_w * k_c;
    int32_t groups, group_c, n, oy, ox;

    (void)ctx;
    (void)bias_dims;
    if (k_c <= 0 || in_c % k_c != 0) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    groups = in_c / k_c;
    if (groups == 0 || out_c % groups != 0) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    if (upscale_dims != NULL) {
        return ARM_CMSIS_NN_NO_IMPL_ERROR; /* arm_transpose_conv_s8 needs no upscaled convolution here */
    }
    group_c = out_c / groups;

    for (n = 0; n < input_dims->n; n++) {
        for (oy = 0; oy < output_dims->h; oy++) {
            const int32_t y = oy * conv_params->stride.h - conv_params->padding.h;
            int32_t ky0, ky1;

            nncc_cut_window(y, input_dims->h, filter_dims->h, dil_y, &ky0, &ky1);
            for (ox = 0; ox < output_dims->w; ox++) {
                const int32_t x = ox * conv_params->stride.w - conv_params->padding.w;
                int32_t kx0, kx1, len, runs, oc;

                nncc_cut_window(x, in_w, k_w, dil_x, &kx0, &kx1);
                /* A kernel row is one run of bytes unless taps or groups part it. */
                runs = kx1 - kx0;
                len = k_c;
                if (dil_x == 1 && groups == 1) {
                    len = runs * k_c;
                    runs = 1;
                }
                for (oc = 0; oc < out_c;) {
                    const int32_t group = oc / group_c;
                    const int32_t block = nncc_min(4, (group + 1) * group_c - oc);
                    const int8_t *w[4];
                    uint32_t acc[4];
                    int32_t ky, j;

                    nncc_block4(filter_data + oc * filter_size, filter_size, block,
                                bias_data != NULL ? bias_data + oc : NULL, w, acc);
                    for (ky = ky0; ky < ky1; ky++) {
                        const int8_t *in =
                            input_data + ((y + ky * dil_y) * in_w + x + kx0 * dil_x) * in_c + group * k_c;
                        int32_t at = (ky * k_w + kx0) * k_c;

                        for (j = 0; j < runs; j++) {
                            nncc_cmsis_dot4(in, len, offset, w, at, acc);
                            in += dil_x * in_c;
                            at += k_c;
                        }
                    }
                    output_data =
                        nncc_cmsis_store(acc, block, quant_params->multiplier + oc, quant_params->shift + oc, 1,
                                         conv_params->output_offset, &conv_params->activation, output_data);
                    oc += block;
                }
            }
        }
        input_data += input_dims->h * in_w * in_c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
