/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_window.h"

/* One channel with one filter: the rest of a row, and channel multipliers. */
static inline uint32_t one_channel(const nncc_window_taps *t, int32_t in_c, int32_t out_c, int32_t offset, uint32_t acc)
{
    const int8_t *in = t->in + in_c;
    const int8_t *w = t->filter + out_c;
    int32_t ky, kx;

    for (ky = t->rows; ky > 0; ky--) {
        for (kx = t->cols; kx > 0; kx--) {
            acc += (uint32_t)((*in + offset) * *w);
            in += t->in_dx;
            w += t->filter_dx;
        }
        in += t->in_dy;
        w += t->filter_dy;
    }
    return acc;
}

arm_cmsis_nn_status arm_depthwise_conv_s8(const cmsis_nn_context *ctx, const cmsis_nn_dw_conv_params *dw_conv_params,
                                          const cmsis_nn_per_channel_quant_params *quant_params,
                                          const cmsis_nn_dims *input_dims, const int8_t *input,
                                          const cmsis_nn_dims *filter_dims, const int8_t *filter,
                                          const cmsis_nn_dims *bias_dims, const int32_t *bias,
                                          const cmsis_nn_dims *output_dims, int8_t *output)
{
    const int32_t in_w = input_dims->w;
    const int32_t in_c = input_dims->c;
    const int32_t out_c = output_dims->c;
    const int32_t k_w = filter_dims->w;
    const int32_t mult = dw_conv_params->ch_mult;
    const int32_t dil_x = dw_conv_params->dilation.w;
    const int32_t dil_y = dw_conv_params->dilation.h;
    const int32_t offset = dw_conv_params->input_offset;
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
                int32_t kx0, kx1, oc, block;
                nncc_window_taps t;

                nncc_cut_window(x, in_w, k_w, dil_x, &kx0, &kx1);
                t.rows = ky1 - ky0;
                t.cols = nncc_max(kx1 - kx0, 0);
                t.in_dx = dil_x * in_c;
                t.filter_dx = out_c;
                t.in_dy = dil_y * in_w * in_c - t.cols * t.in_dx;
                t.filter_dy = (k_w - t.cols) * out_c;
                t.in = input;
                t.filter = filter;
                if (t.rows > 0 && t.cols > 0) {
                    t.in += ((y + ky0 * dil_y) * in_w + x + kx0 * dil_x) * in_c;
                    t.filter += (ky0 * k_w + kx0) * out_c;
                }
                for (oc = 0; oc < out_c; oc += block) {
                    uint32_t acc[4];

                    block = (mult == 1 && out_c - oc >= 4) ? 4 : 1;
                    nncc_start4(block, bias != NULL ? bias + oc : NULL, acc);
                    if (block == 4) {
                        nncc_cmsis_window4(&t, oc, offset, acc);
                    } else {
                        acc[0] = one_channel(&t, oc / mult, oc, offset, acc[0]);
                    }
                    output = nncc_cmsis_store(acc, block, quant_params->multiplier + oc, quant_params->shift + oc, 1,
                                              dw_conv_params->output_offset, &dw_conv_params->activation, output);
                }
            }
        }
        input += input_dims->h * in_w * in_c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
