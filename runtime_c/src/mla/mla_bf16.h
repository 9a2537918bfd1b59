/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_bf16.h: bfloat16, the upper half of a float. */
#include <stdint.h>
#include <string.h>

static inline double mla_from_bf16(uint16_t v)
{
    const uint32_t bits = (uint32_t)v << 16;
    float f;

    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

/* To the nearest, ties to even, by way of float; NaN stays NaN. */
static inline uint16_t mla_to_bf16(double v)
{
    const float f = (float)v;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)(bits >> 16 | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* v within [lo, hi]; NaN stays NaN. */
static inline double mla_within(double v, double lo, double hi)
{
    if (v < lo) {
        return lo;
    }
    return v > hi ? hi : v;
}
