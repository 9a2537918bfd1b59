#include "nncc_cmsis.h"

arm_cmsis_nn_status arm_transpose_s8(const int8_t *input_data, int8_t *const output_data,
                                     const cmsis_nn_dims *const input_dims, const cmsis_nn_dims *const output_dims,
                                     const cmsis_nn_transpose_params *const transpose_params)
{
    const int32_t extent[4] = {input_dims->n, input_dims->h, input_dims->w, input_dims->c};
    const int32_t axes = transpose_params->num_dims;
    int32_t size[4] = {1, 1, 1, 1};
    int32_t step[4] = {0, 0, 0, 0};
    int32_t stride[4];
    int32_t run = 1;
    int32_t i, n, h, w, c;
    int8_t *out = output_data;

    (void)output_dims;
    if (axes < 1 || axes > 4) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (i = axes - 1; i >= 0; i--) {
        stride[i] = run;
        run *= extent[i];
    }
    for (i = 0; i < axes; i++) {
        const uint32_t from = axes == 1 ? 0u : transpose_params->permutations[i];

        if (from >= (uint32_t)axes) {
            return ARM_CMSIS_NN_ARG_ERROR;
        }
        size[4 - axes + i] = extent[from];
        step[4 - axes + i] = stride[from];
    }
    for (n = 0; n < size[0]; n++) {
        for (h = 0; h < size[1]; h++) {
            for (w = 0; w < size[2]; w++) {
                const int8_t *in = input_data + n * step[0] + h * step[1] + w * step[2];

                for (c = 0; c < size[3]; c++) {
                    *out++ = *in;
                    in += step[3];
                }
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
