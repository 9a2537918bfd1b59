/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_round.h: from double to a saturated integer without the C library. */
#ifndef NNCC_ROUND_H
#define NNCC_ROUND_H

#include <stdint.h>

/*
 * clamp(round_half_away(v) + zero) to [lo, hi]; |zero|, |lo|, |hi| are at most 65536. NaN counts as 0.
 * Used by int8 kernels: v is a result divided by the output scale.
 */
static inline int32_t nncc_round_away(double v, int32_t zero, int32_t lo, int32_t hi)
{
    int32_t t = 0;

    if (v > 1048576.0) {
        t = 1048576;
    } else if (v < -1048576.0) {
        t = -1048576;
    } else if (v == v) {
        double rest;

        t = (int32_t)v;
        rest = v - (double)t; /* exact */
        if (rest >= 0.5) {
            t++;
        } else if (rest <= -0.5) {
            t--;
        }
    }
    t += zero;
    return t < lo ? lo : (t > hi ? hi : t);
}

/* As above in float with ties to even: the rounding of ONNX QuantizeLinear. */
static inline int32_t nncc_round_even(float v, int32_t zero, int32_t lo, int32_t hi)
{
    int32_t t = 0;

    if (v > 1048576.0f) {
        t = 1048576;
    } else if (v < -1048576.0f) {
        t = -1048576;
    } else if (v == v) {
        float rest;

        t = (int32_t)v;
        rest = v - (float)t; /* exact */
        if (rest > 0.5f || (rest == 0.5f && (t & 1) != 0)) {
            t++;
        } else if (rest < -0.5f || (rest == -0.5f && (t & 1) != 0)) {
            t--;
        }
    }
    t += zero;
    return t < lo ? lo : (t > hi ? hi : t);
}

/* As nncc_round_away in float: the rounding of TensorFlow Lite's QUANTIZE. */
static inline int32_t nncc_round_outward(float v, int32_t zero, int32_t lo, int32_t hi)
{
    int32_t t = 0;

    if (v > 1048576.0f) {
        t = 1048576;
    } else if (v < -1048576.0f) {
        t = -1048576;
    } else if (v == v) {
        float rest;

        t = (int32_t)v;
        rest = v - (float)t; /* exact */
        if (rest >= 0.5f) {
            t++;
        } else if (rest <= -0.5f) {
            t--;
        }
    }
    t += zero;
    return t < lo ? lo : (t > hi ? hi : t);
}

#endif /* NNCC_ROUND_H */
