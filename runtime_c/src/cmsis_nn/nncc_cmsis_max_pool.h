/* Maximum pooling of int8 or int16 elements: the including file defines NNCC_ELEM as their
 * type, NNCC_ELEM_BITS as its width and NNCC_POOL as the name of the function. No guard: every
 * type includes it. */
#include <string.h>
#include "nncc_cmsis.h"

#ifndef NNCC_CMSIS_MAX4
/* Words are loaded from any address: not on cores that trap it. */
#if !defined(__arm__) || defined(__ARM_FEATURE_UNALIGNED)
#define NNCC_CMSIS_MAX4 1

/* The larger of two int8 in each byte: with the sign bits apart, a subtraction compares what remains. */
static inline uint32_t nncc_max4(uint32_t a, uint32_t b)
{
    const uint32_t sign = 0x80808080u;
    const uint32_t rest = (a | sign) - (b & ~sign);
    const uint32_t above = ((b & ~a) | (rest & ~(a ^ b))) & sign;

    return b ^ ((a ^ b) & ((above << 1) - (above >> 7)));
}

/* A byte in all four. */
static inline uint32_t nncc_splat4(int32_t v)
{
    return ((uint32_t)v & 255u) * 0x01010101u;
}

/* The largest of each of four channels in a window of rows and columns, between two bounds. */
static inline uint32_t nncc_window_max4(const int8_t *in, int32_t rows, int32_t cols, int32_t in_c, int32_t in_row,
                                        uint32_t lo, uint32_t hi)
{
    uint32_t top = lo;

    for (; rows > 0; rows--)
    {
        const int8_t *from = in;
        int32_t n;

        for (n = cols; n > 0; n--)
        {
            uint32_t v;

            memcpy(&v, from, sizeof v);
            top = nncc_max4(top, v);
            from += in_c;
        }
        in += in_row;
    }
    return hi == 0x7f7f7f7fu ? top : ~nncc_max4(~top, ~hi); /* ~ turns the order round */
}
#else
#define NNCC_CMSIS_MAX4 0
#endif
#endif

/* Largest element of the part of the window that lies inside the input. */
static inline arm_cmsis_nn_status NNCC_POOL(const cmsis_nn_pool_params *pool_params,
                                                const cmsis_nn_dims *input_dims, const NNCC_ELEM *input_data,
                                                const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
                                                NNCC_ELEM *output_data)
{
    const int32_t in_w = input_dims->w;
    const int32_t in_c = input_dims->c;
#if NNCC_CMSIS_MAX4 && NNCC_ELEM_BITS == 8
    const uint32_t lo4 = nncc_splat4(pool_params->activation.min);
    const uint32_t hi4 = nncc_splat4(pool_params->activation.max);
#endif
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
                c = 0;
#if NNCC_CMSIS_MAX4 && NNCC_ELEM_BITS == 8
                for (; c + 4 <= in_c; c += 4)
                {
                    const uint32_t top =
                        nncc_window_max4(input_data + ((y + ky0) * in_w + x + kx0) * in_c + c, ky1 - ky0,
                                         kx1 - kx0, in_c, in_w * in_c, lo4, hi4);

                    memcpy(output_data, &top, sizeof top);
                    output_data += 4;
                }
#endif
                for (; c < in_c; c++)
                {
                    int32_t top = NNCC_ELEM_BITS == 8 ? NN_Q7_MIN : NN_Q15_MIN;
                    int32_t ky, kx;

                    for (ky = ky0; ky < ky1; ky++)
                    {
                        const NNCC_ELEM *in = input_data + ((y + ky) * in_w + x + kx0) * in_c + c;

                        for (kx = kx0; kx < kx1; kx++)
                        {
                            top = nncc_max(top, *in);
                            in += in_c;
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
#undef NNCC_ELEM_BITS
#undef NNCC_POOL
