/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Transposed convolution, gathered per output pixel: only the kernel taps that
 * meet an input element are visited, and no partial sums are kept. */
#include "nncc_cmsis.h"

/* The first kernel tap that meets an input element at output position "out",
 * or the tap that the last element meets if that is later. at becomes the
 * element of that tap; each tap "stride" further on meets the one before. */
static int32_t first_tap(int32_t out, int32_t pad, int32_t stride, int32_t extent, int32_t *at)
{
    const int32_t p = out + pad;
    int32_t tap = p % stride;

    *at = p / stride;
    if (*at >= extent) {
        tap += (*at - extent + 1) * stride;
        *at = extent - 1;
    }
    return tap;
}

arm_cmsis_nn_status arm_transpose_conv_s8(const cmsis_nn_context *ctx, const cmsis_nn_context *output_ctx,
                                          const cmsis_nn_transpose_conv_params *transpose_conv_params,
                                          const cmsis_nn_per_channel_quant_params *quant_params,
                                          const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                          const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                          const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                          const cmsis_nn_dims *output_dims, int8_t *output_data)
{
    const int32_t in_w = input_dims->w;
    const int32_t in_c = input_dims->c;
    const int32_t out_c = output_dims->c;
    const int32_t k_w = filter_dims->w;
    const int32_t k_h = filter_dims->h;
    const int32_t filter_size = k_h * k_w * in_c;
    const cmsis_nn_tile stride = transpose_conv_params->stride;

    (void)ctx;
    (void)output_ctx;
    (void)bias_dims;
    for (int32_t n = 0; n < input_dims->n; n++) {
        for (int32_t oy = 0; oy < output_dims->h; oy++) {
            int32_t iy0;
            const int32_t ky0 = first_tap(oy, transpose_conv_params->padding.h, stride.h, input_dims->h, &iy0);

            for (int32_t ox = 0; ox < output_dims->w; ox++) {
                int32_t ix0;
                const int32_t kx0 = first_tap(ox, transpose_conv_params->padding.w, stride.w, in_w, &ix0);
                int32_t block;

                for (int32_t oc = 0; oc < out_c; oc += block) {
                    const int8_t *w[4];
                    uint32_t acc[4];
                    int32_t ky, kx, iy = iy0;

                    block = nncc_min(4, out_c - oc);
                    nncc_block4(filter_data + oc * filter_size, filter_size, block,
                                bias_data != NULL ? bias_data + oc : NULL, w, acc);
                    for (ky = ky0; ky < k_h && iy >= 0; ky += stride.h, iy--) {
                        int32_t ix = ix0;

                        for (kx = kx0; kx < k_w && ix >= 0; kx += stride.w, ix--) {
                            nncc_cmsis_dot4(input_data + (iy * in_w + ix) * in_c, in_c,
                                            transpose_conv_params->input_offset, w, (ky * k_w + kx) * in_c, acc);
                        }
                    }
                    output_data = nncc_cmsis_store(acc, block, quant_params->multiplier + oc, quant_params->shift + oc,
                                                   1, transpose_conv_params->output_offset,
                                                   &transpose_conv_params->activation, output_data);
                }
            }
        }
        input_data += input_dims->h * in_w * in_c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
