/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The largest of four int8 channels at once. */
#include "nncc_cmsis.h"

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

    for (; rows > 0; rows--) {
        const int8_t *from = in;

        for (int32_t n = cols; n > 0; n--) {
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
