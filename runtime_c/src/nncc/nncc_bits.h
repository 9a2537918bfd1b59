/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_bits.h: the position of the highest bit. */
#include <stdint.h>

/* Leading zeros of v, 32 for 0, without a loop: data never decides how often one turns. */
static inline int32_t nncc_leading_zeros(uint32_t v)
{
#if defined(__GNUC__)
    return v == 0u ? 32 : (int32_t)__builtin_clz(v);
#else
    int32_t n = 0, step;

    step = (v >> 16) == 0u ? 16 : 0;
    v <<= step;
    n += step;
    step = (v >> 24) == 0u ? 8 : 0;
    v <<= step;
    n += step;
    step = (v >> 28) == 0u ? 4 : 0;
    v <<= step;
    n += step;
    step = (v >> 30) == 0u ? 2 : 0;
    v <<= step;
    n += step;
    step = (v >> 31) == 0u ? 1 : 0;
    v <<= step;
    return n + step + (v == 0u ? 1 : 0);
#endif
}
