/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_element_f32.h: what expressions of one float32 element call, in kernels on whole tensors and in functions that
 * nncc writes into a model's source. Both give the same bits, because it is the same text, without contraction
 * (nncc_fp.h).
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "nncc_fp.h"

/*
 * v, which no compiler makes a lane of a vector: those of Helium take denormals for 0. Around what decides by a float,
 * so that 1e-40 is above 0 wherever it is compared.
 */
static inline float nncc_el_scalar_f32(float v)
{
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) != 0
#if defined(__GNUC__) && !defined(NNCC_NO_ASM)
    __asm__("" : "+t"(v));
#else
    const volatile float alone = v;

    v = alone;
#endif
#endif
    return v;
}

static inline int32_t nncc_el_less_f32(float u, float v)
{
    return nncc_el_scalar_f32(u) < nncc_el_scalar_f32(v);
}

static inline int32_t nncc_el_less_or_equal_f32(float u, float v)
{
    return nncc_el_scalar_f32(u) <= nncc_el_scalar_f32(v);
}

static inline int32_t nncc_el_equal_f32(float u, float v)
{
    return nncc_el_scalar_f32(u) == nncc_el_scalar_f32(v);
}

static inline float nncc_el_floor_f32(float v)
{
    return nncc_el_scalar_f32(floorf(nncc_el_scalar_f32(v)));
}

static inline float nncc_el_ceil_f32(float v)
{
    return nncc_el_scalar_f32(ceilf(nncc_el_scalar_f32(v)));
}

static inline float nncc_el_sign_f32(float v)
{
    const float u = nncc_el_scalar_f32(v);

    return u > 0.0f ? 1.0f : (u < 0.0f ? -1.0f : u);
}

static inline float nncc_el_clip_f32(float v, float alpha, float beta)
{
    return v < alpha ? alpha : (v > beta ? beta : v);
}

static inline float nncc_el_max_f32(float u, float v)
{
    return u != u ? u : (u > v ? u : v);
}

static inline float nncc_el_min_f32(float u, float v)
{
    return u != u ? u : (u < v ? u : v);
}

static inline float nncc_el_prelu_f32(float u, float v)
{
    return u < 0.0f ? u * v : u;
}

/*
 * Natural logarithm within 1 ulp. v = 2^e * (1 + f) with 1 + f from 0.703 to 1.406; with s = f / (2 + f),
 * ln(1 + f) = f - f*f/2 + s * (f*f/2 + r), r = 2 s^2 (1/3 + s^2/5 + s^4/7 + s^6/9), and e ln 2 in two parts, the first
 * exact. What is not normal and positive goes to the C library.
 */
static inline float nncc_el_log_f32(float v)
{
    uint32_t u;
    float e, f, s, z, h, r;

    memcpy(&u, &v, sizeof u);
    if (u - 0x00800000u >= 0x7f000000u) {
        return logf(v);
    }
    u -= 0x3f340000u;
    e = (float)((int32_t)(u >> 23) - (int32_t)((u >> 31) << 9));
    u = (u & 0x007fffffu) + 0x3f340000u;
    memcpy(&f, &u, sizeof f);
    f -= 1.0f;
    s = f / (2.0f + f);
    z = s * s;
    h = 0.5f * f * f;
    r = z * (0.666666687f + z * (0.400000006f + z * (0.285714298f + z * 0.222222224f)));
    return e * 0.693145752f - ((h - (s * (h + r) + e * 1.42860677e-06f)) - f);
}

/*
 * e to the power v within 1 ulp: 2^n * e^r with r at most ln 2 / 2 from 0, n ln 2 in two parts, the product of n and
 * the first of them exact; 1.5 * 2^23 added leaves n in the lower bits. e^r = 1 + r + r^2 * q(r), q of degree 4 with
 * the least relative error. What is beyond 87 or no number goes to the C library.
 */
static inline float nncc_el_exp_f32(float v)
{
    uint32_t u;
    float n, r, y;

    memcpy(&u, &v, sizeof u);
    if ((u & 0x7fffffffu) >= 0x42ae0000u) {
        return expf(v);
    }
    n = v * 1.44269502f + 12582912.0f;
    memcpy(&u, &n, sizeof u);
    n -= 12582912.0f;
    r = (v - n * 0.693359375f) + n * 2.12194442e-04f;
    y = 0.49999994f + r * (0.166665196f + r * (0.0416683927f + r * (0.00836878084f + r * 0.00138144672f)));
    y = 1.0f + (r + r * r * y);
    u = (u << 23) + 0x3f800000u;
    memcpy(&n, &u, sizeof n);
    return y * n;
}

/*
 * Hyperbolic tangent within 2 ulp: v + v^3 * q(v^2), q of degree 4 with the least relative error, up to 0.625, and
 * 1 - 2 / (e^2v + 1) up to where that is 1.
 */
static inline float nncc_el_tanh_f32(float v)
{
    const float a = fabsf(v);
    float y = 1.0f;

    if (a < 0.625f) {
        const float z = v * v;

        y = -0.333332807f + z * (0.133314416f + z * (-0.0537397154f + z * (0.0206390861f - z * 0.0057049864f)));
        return v + v * z * y;
    }
    if (!(a >= 9.1f)) {
        y -= 2.0f / (nncc_el_exp_f32(2.0f * a) + 1.0f);
    }
    return v < 0.0f ? -y : y;
}

static inline float nncc_el_sigmoid_f32(float v)
{
    return 1.0f / (1.0f + nncc_el_exp_f32(-v));
}

static inline float nncc_el_softplus_f32(float v)
{
    return (v < 0.0f ? 0.0f : v) + log1pf(nncc_el_exp_f32(-fabsf(v)));
}
