/*
 * nncc_element_f32.h: what expressions of one float32 element call, in kernels on whole tensors and in functions that
 * nncc writes into a model's source. Both give the same bits, because it is the same text, without contraction
 * (nncc_fp.h).
 */
#ifndef NNCC_ELEMENT_F32_H
#define NNCC_ELEMENT_F32_H

#include <math.h>

#include "nncc_fp.h"

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

static inline float nncc_el_softplus_f32(float v)
{
    return fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)));
}

#endif /* NNCC_ELEMENT_F32_H */
