/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_bf16.h: bfloat16, the upper half of a float. */
#include "nncc_loops.h"

static inline double mla_from_bf16(uint16_t v)
{
    return (double)nncc_bf16_to_f32(v);
}

/* To the nearest, ties to even, by way of float; NaN stays NaN. */
static inline uint16_t mla_to_bf16(double v)
{
    return nncc_f32_to_bf16((float)v);
}

/* v within [lo, hi]; NaN stays NaN. */
static inline double mla_within(double v, double lo, double hi)
{
    if (v < lo) {
        return lo;
    }
    return v > hi ? hi : v;
}
