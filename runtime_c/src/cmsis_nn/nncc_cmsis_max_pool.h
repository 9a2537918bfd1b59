/* Maximum pooling of int8 or int16 elements: the including file defines NNCC_ELEM as their
 * type and NNCC_POOL as the name of the function. No guard: every type includes it. */
#include "nncc_cmsis.h"

/* Largest element of the part of the window that lies inside the input. */
static inline arm_cmsis_nn_status NNCC_POOL(const cmsis_nn_pool_params *pool_params,
                                                const cmsis_nn_dims *input_dims, const NNCC_ELEM *input_data,
                                                const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
                                                NNCC_ELEM *output_data)
{
    const int32_t in_w = input_dims->w;
    const int32_t in_c = input_dims->c;
    int32_t n, oy, ox, c;

    if (input_dims->n < 1)
    {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (n = 0; n < input_dims->n; n++)
    {
        for (oy = 0; oy < output_dims->h; oy++)
        {
            const int32_t y = oy * pool_params->stride.h - pool_params->padding.h;
            int32_t ky0, ky1;

            nncc_window(y, input_dims->h, filter_dims->h, 1, &ky0, &ky1);
            for (ox = 0; ox < output_dims->w; ox++)
            {
                const int32_t x = ox * pool_params->stride.w - pool_params->padding.w;
                int32_t kx0, kx1;

                nncc_window(x, in_w, filter_dims->w, 1, &kx0, &kx1);
                for (c = 0; c < in_c; c++)
                {
                    int32_t top = sizeof(NNCC_ELEM) == 1u ? NN_Q7_MIN : NN_Q15_MIN;
                    int32_t ky, kx;

                    for (ky = ky0; ky < ky1; ky++)
                    {
                        for (kx = kx0; kx < kx1; kx++)
                        {
                            top = nncc_max(top, input_data[((y + ky) * in_w + x + kx) * in_c + c]);
                        }
                    }
                    *output_data++ =
                        (NNCC_ELEM)nncc_min(nncc_max(top, pool_params->activation.min), pool_params->activation.max);
                }
            }
        }
        input_data += input_dims->h * in_w * in_c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}

#undef NNCC_ELEM
#undef NNCC_POOL
