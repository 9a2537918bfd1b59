/* Average pooling of int8 or int16 elements: the including file defines NNCC_ELEM as their
 * type and NNCC_POOL as the name of the function. No guard: every type includes it. */
#include "nncc_cmsis.h"

/* Average over the part of the window that lies inside the input; windows of up
 * to 65535 elements. */
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
                int32_t kx0, kx1, count, rows, cols;

                nncc_window(x, in_w, filter_dims->w, 1, &kx0, &kx1);
                if (ky0 >= ky1 || kx0 >= kx1)
                {
                    return ARM_CMSIS_NN_ARG_ERROR;
                }
                count = (ky1 - ky0) * (kx1 - kx0);
                rows = ky1 - ky0;
                cols = kx1 - kx0;
                if (cols == in_w) /* whole rows follow each other */
                {
                    cols = count;
                    rows = 1;
                }
                for (c = 0; c < in_c; c++)
                {
                    const NNCC_ELEM *row = input_data + ((y + ky0) * in_w + x + kx0) * in_c + c;
                    int32_t sum = 0;
                    int32_t ky, kx;

                    for (ky = rows; ky > 0; ky--)
                    {
                        const NNCC_ELEM *in = row;

                        for (kx = cols; kx > 0; kx--)
                        {
                            sum += *in;
                            in += in_c;
                        }
                        row += in_w * in_c;
                    }
                    sum = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
                    sum = nncc_min(nncc_max(sum, pool_params->activation.min), pool_params->activation.max);
                    *output_data++ = (NNCC_ELEM)sum;
                }
            }
        }
        input_data += input_dims->h * in_w * in_c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}

#undef NNCC_ELEM
#undef NNCC_POOL
