/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_real.h: functions of floats in basic operations, each rounded, in a stated order: the same bits on every core.
 * ir/postprocess of nncc has them in Go.
 */
#include "nncc_fp.h"

#include <stdint.h>
#include <string.h>

/* Below every number. */
#define NNCC_REAL_LOWEST (-3.402823466e+38f)

/* e^x within 3 units in the last place, for x from -87 to 88; beyond them that of the limit, of NaN that of -87. */
static inline float nncc_real_exp(float x)
{
    static const float factor[7] = {1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f, 0.5f, 1.0f, 1.0f};
    float n, r, y = 1.0f / 5040.0f, power;

    x = x > -87.0f ? x : -87.0f;
    x = x > 88.0f ? 88.0f : x;
    int32_t k = (int32_t)(x * 1.44269504f + (x < 0.0f ? -0.5f : 0.5f));
    n = (float)k;
    r = x - n * 0.693359375f;
    r += n * 2.12194440e-4f;
    for (int32_t i = 0; i < 7; i++) {
        y = y * r + factor[i];
    }
    uint32_t bits = (uint32_t)(k + 127) << 23;
    memcpy(&power, &bits, sizeof power);
    return y * power;
}

/* 1 / (1 + e^-x), of NaN 0. */
static inline float nncc_real_sigmoid(float x)
{
    return x >= NNCC_REAL_LOWEST ? 1.0f / (1.0f + nncc_real_exp(-x)) : 0.0f;
}
