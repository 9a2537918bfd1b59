/*
 * nncc_element_f32.h: float32 functions of one element, as the kernels on whole tensors compute them.
 *
 * A kernel applies such a function to every element; a loop that nncc writes for several operators (target.Code) calls
 * one after the other. Both give the same bits, because it is the same text, without contraction (nncc_fp.h).
 */
#ifndef NNCC_ELEMENT_F32_H
#define NNCC_ELEMENT_F32_H

#include <math.h>

#include "nncc_fp.h"

static inline float nncc_el_abs_f32(float v)
{
    return fabsf(v);
}

static inline float nncc_el_acos_f32(float v)
{
    return acosf(v);
}

static inline float nncc_el_acosh_f32(float v)
{
    return acoshf(v);
}

static inline float nncc_el_asin_f32(float v)
{
    return asinf(v);
}

static inline float nncc_el_asinh_f32(float v)
{
    return asinhf(v);
}

static inline float nncc_el_atan_f32(float v)
{
    return atanf(v);
}

static inline float nncc_el_atanh_f32(float v)
{
    return atanhf(v);
}

static inline float nncc_el_ceil_f32(float v)
{
    return ceilf(v);
}

static inline float nncc_el_celu_f32(float v, float alpha)
{
    return v < 0.0f ? alpha * expm1f(v / alpha) : v;
}

static inline float nncc_el_clip_f32(float v, float alpha, float beta)
{
    return v < alpha ? alpha : (v > beta ? beta : v);
}

static inline float nncc_el_cos_f32(float v)
{
    return cosf(v);
}

static inline float nncc_el_cosh_f32(float v)
{
    return coshf(v);
}

static inline float nncc_el_elu_f32(float v, float alpha)
{
    return v < 0.0f ? alpha * expm1f(v) : v;
}

static inline float nncc_el_erf_f32(float v)
{
    return erff(v);
}

static inline float nncc_el_exp_f32(float v)
{
    return expf(v);
}

static inline float nncc_el_floor_f32(float v)
{
    return floorf(v);
}

static inline float nncc_el_gelu_f32(float v)
{
    return 0.5f * v * (1.0f + erff(v * 0.70710678f));
}

static inline float nncc_el_gelu_tanh_f32(float v)
{
    return 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
}

static inline float nncc_el_hard_sigmoid_f32(float v, float alpha, float beta)
{
    return fmaxf(0.0f, fminf(1.0f, alpha * v + beta));
}

static inline float nncc_el_hard_swish_f32(float v)
{
    return v * fmaxf(0.0f, fminf(1.0f, v / 6.0f + 0.5f));
}

static inline float nncc_el_leaky_relu_f32(float v, float alpha)
{
    return v < 0.0f ? alpha * v : v;
}

static inline float nncc_el_log_f32(float v)
{
    return logf(v);
}

static inline float nncc_el_max_f32(float u, float v)
{
    return u != u ? u : (u > v ? u : v);
}

static inline float nncc_el_min_f32(float u, float v)
{
    return u != u ? u : (u < v ? u : v);
}

static inline float nncc_el_mish_f32(float v)
{
    return v * tanhf(fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v))));
}

static inline float nncc_el_neg_f32(float v)
{
    return -v;
}

static inline float nncc_el_prelu_f32(float u, float v)
{
    return u < 0.0f ? u * v : u;
}

static inline float nncc_el_reciprocal_f32(float v)
{
    return 1.0f / v;
}

static inline float nncc_el_relu_f32(float v)
{
    return v < 0.0f ? 0.0f : v;
}

static inline float nncc_el_round_f32(float v)
{
    return rintf(v);
}

static inline float nncc_el_selu_f32(float v, float alpha, float beta)
{
    return beta * (v < 0.0f ? alpha * expm1f(v) : v);
}

static inline float nncc_el_shrink_f32(float v, float alpha, float beta)
{
    return v < -alpha ? v + beta : (v > alpha ? v - beta : 0.0f);
}

static inline float nncc_el_sigmoid_f32(float v)
{
    return 1.0f / (1.0f + expf(-v));
}

static inline float nncc_el_sign_f32(float v)
{
    return v > 0.0f ? 1.0f : (v < 0.0f ? -1.0f : v);
}

static inline float nncc_el_sin_f32(float v)
{
    return sinf(v);
}

static inline float nncc_el_sinh_f32(float v)
{
    return sinhf(v);
}

static inline float nncc_el_softplus_f32(float v)
{
    return fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)));
}

static inline float nncc_el_softsign_f32(float v)
{
    return v / (1.0f + fabsf(v));
}

static inline float nncc_el_sqrt_f32(float v)
{
    return sqrtf(v);
}

static inline float nncc_el_swish_f32(float v, float alpha)
{
    return v / (1.0f + expf(-(alpha * v)));
}

static inline float nncc_el_tan_f32(float v)
{
    return tanf(v);
}

static inline float nncc_el_tanh_f32(float v)
{
    return tanhf(v);
}

static inline float nncc_el_thresholded_relu_f32(float v, float alpha)
{
    return v > alpha ? v : 0.0f;
}

#endif /* NNCC_ELEMENT_F32_H */
