/* The smaller of two int8 tensors, element by element. */
#include "nncc_cmsis_broadcast.h"

arm_cmsis_nn_status arm_minimum_s8(
    const cmsis_nn_context *ctx, const int8_t *input_1_data, const cmsis_nn_dims *input_1_dims,
    const int8_t *input_2_data, const cmsis_nn_dims *input_2_dims, int8_t *output_data,
    const cmsis_nn_dims *output_dims)
{
    int32_t s1[4], s2[4];
    int32_t n, h, w, c;

    (void)ctx;
    nncc_broadcast_steps(input_1_dims, s1);
    nncc_broadcast_steps(input_2_dims, s2);
    for (n = 0; n < output_dims->n; n++)
    {
        for (h = 0; h < output_dims->h; h++)
        {
            for (w = 0; w < output_dims->w; w++)
            {
                const int8_t *a = input_1_data + n * s1[0] + h * s1[1] + w * s1[2];
                const int8_t *b = input_2_data + n * s2[0] + h * s2[1] + w * s2[2];

                for (c = 0; c < output_dims->c; c++)
                {
                    *output_data++ = *a < *b ? *a : *b;
                    a += s1[3];
                    b += s2[3];
                }
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
