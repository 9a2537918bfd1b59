/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_sums.h: sums in registers of an FPU, without assembly: a is the name of 8 or 4 of them. GCC loads two floats
 * of one value of 64 bits by one VLDR, which it does not split; it has no VLDM of floats. What Clang has is in
 * nncc_f32_held.h.
 */
#ifndef NNCC_F32_SUMS_H
#define NNCC_F32_SUMS_H

#include "nncc_f32_intrinsics.h"

#if NNCC_F32_FPU && NNCC_F32_C

/* Two floats, and two that are stored together; what is not loaded together GCC stores one by one. */
typedef union
{
    float f[2];
    uint64_t both;
} nncc_f32_pair;
#if defined(__GNUC__) && !defined(__clang__)
typedef uint64_t __attribute__((may_alias)) nncc_f32_both;
#define NNCC_F32_PAIR(p, a, b) NNCC_F32_LOAD_TWO(p, a, b)
#define NNCC_F32_GET(v, p) (v).both = *(nncc_f32_two *)(const void *)(p)
#define NNCC_F32_PUT_BOTH(p, v) *(nncc_f32_both *)(void *)(p) = (v).both
#else
#define NNCC_F32_PAIR(p, a, b) \
    do { \
        (a) = (p)[0]; \
        (b) = (p)[1]; \
    } while (0)
#define NNCC_F32_GET(v, p) NNCC_F32_PAIR(p, (v).f[0], (v).f[1])
#define NNCC_F32_PUT_BOTH(p, v) \
    do { \
        (p)[0] = (v).f[0]; \
        (p)[1] = (v).f[1]; \
    } while (0)
#endif
/* step(i) for pairs i, i+2, ... of 16 floats. */
#define NNCC_F32_PAIRS16(step) \
    do { \
        step(0); \
        step(2); \
        step(4); \
        step(6); \
        step(8); \
        step(10); \
        step(12); \
        step(14); \
    } while (0)
/* step(i) for all pairs of n floats; next(i) moves pointers on. */
#define NNCC_F32_ALL_PAIRS(n, step, next) \
    do { \
        for (int32_t left_ = (n) >> 4; left_ > 0; left_--) { \
            NNCC_F32_PAIRS16(step); \
            next(16); \
        } \
        for (int32_t left_ = ((n)&15) >> 1; left_ > 0; left_--) { \
            step(0); \
            next(2); \
        } \
    } while (0)

#define NNCC_F32_BEGIN4(a, p) float a##0 = (p)[0], a##1 = (p)[1], a##2 = (p)[2], a##3 = (p)[3]
#define NNCC_F32_BEGIN8(a, p) \
    NNCC_F32_BEGIN4(a, p); \
    float a##4 = (p)[4], a##5 = (p)[5], a##6 = (p)[6], a##7 = (p)[7]
#define NNCC_F32_SAME4(a, b) float a##0 = b##0, a##1 = b##1, a##2 = b##2, a##3 = b##3
#define NNCC_F32_SAME8(a, b) \
    NNCC_F32_SAME4(a, b); \
    float a##4 = b##4, a##5 = b##5, a##6 = b##6, a##7 = b##7
#define NNCC_F32_EACH4(of, a, x) \
    do { \
        of(a##0, x); \
        of(a##1, x); \
        of(a##2, x); \
        of(a##3, x); \
    } while (0)
#define NNCC_F32_EACH8(of, a, x) \
    do { \
        NNCC_F32_EACH4(of, a, x); \
        of(a##4, x); \
        of(a##5, x); \
        of(a##6, x); \
        of(a##7, x); \
    } while (0)
#define NNCC_F32_STORE4(p, a) \
    do { \
        (p)[0] = a##0; \
        (p)[1] = a##1; \
        (p)[2] = a##2; \
        (p)[3] = a##3; \
    } while (0)
#define NNCC_F32_STORE8(p, a) \
    do { \
        NNCC_F32_STORE4(p, a); \
        (p)[4] = a##4; \
        (p)[5] = a##5; \
        (p)[6] = a##6; \
        (p)[7] = a##7; \
    } while (0)

/* The limits of a job; NaN stays. */
#define NNCC_F32_BELOW(a, lo) a = a < (lo) ? (lo) : a
#define NNCC_F32_ABOVE(a, hi) a = a > (hi) ? (hi) : a
#define NNCC_F32_LIMIT(t, each, a) \
    do { \
        if ((t)->limits != NNCC_F32_NO_LIMIT) { \
            const float lo = (t)->lo; \
\
            each(NNCC_F32_BELOW, a, lo); \
            if ((t)->limits == NNCC_F32_BOTH) { \
                const float hi = (t)->hi; \
\
                each(NNCC_F32_ABOVE, a, hi); \
            } \
        } \
    } while (0)

/* Two weights at p times inputs of 3 pixels or of one. */
#define NNCC_F32_TIMES(a, k, x) a = fmaf(k, x, a)
#define NNCC_F32_PAIR3(p, i, j) \
    do { \
        float k0, k1; \
\
        NNCC_F32_PAIR(p, k0, k1); \
        NNCC_F32_TIMES(a##i, k0, s0); \
        NNCC_F32_TIMES(a##j, k1, s0); \
        NNCC_F32_TIMES(b##i, k0, s1); \
        NNCC_F32_TIMES(b##j, k1, s1); \
        NNCC_F32_TIMES(c##i, k0, s2); \
        NNCC_F32_TIMES(c##j, k1, s2); \
    } while (0)
#define NNCC_F32_PAIR1(p, i, j, s) \
    do { \
        float k0, k1; \
\
        NNCC_F32_PAIR(p, k0, k1); \
        NNCC_F32_TIMES(a##i, k0, s); \
        NNCC_F32_TIMES(a##j, k1, s); \
    } while (0)
#define NNCC_F32_OF4_AT(p) \
    do { \
        NNCC_F32_PAIR3(p, 0, 1); \
        NNCC_F32_PAIR3((p) + 2, 2, 3); \
    } while (0)
#define NNCC_F32_OF8_AT(p) \
    do { \
        NNCC_F32_OF4_AT(p); \
        NNCC_F32_PAIR3((p) + 4, 4, 5); \
        NNCC_F32_PAIR3((p) + 6, 6, 7); \
    } while (0)
#define NNCC_F32_OF4X1_AT(p, s) \
    do { \
        NNCC_F32_PAIR1(p, 0, 1, s); \
        NNCC_F32_PAIR1((p) + 2, 2, 3, s); \
    } while (0)
#define NNCC_F32_OF8X1_AT(p, s) \
    do { \
        NNCC_F32_OF4X1_AT(p, s); \
        NNCC_F32_PAIR1((p) + 4, 4, 5, s); \
        NNCC_F32_PAIR1((p) + 6, 6, 7, s); \
    } while (0)

/* Weights i of 8 channels, or of 4, times an input of 3 pixels or of one. */
#define NNCC_F32_OF8(i, s0, s1, s2) NNCC_F32_OF8_AT(w + NNCC_F32_W_BIAS + 8 * (i))
#define NNCC_F32_OF4(i, s0, s1, s2) NNCC_F32_OF4_AT(w + NNCC_F32_W_BIAS + 4 * (i))
#define NNCC_F32_OF8X1(i, s) NNCC_F32_OF8X1_AT(w + NNCC_F32_W_BIAS + 8 * (i), s)
#define NNCC_F32_OF4X1(i, s) NNCC_F32_OF4X1_AT(w + NNCC_F32_W_BIAS + 4 * (i), s)

/* 24 sums leave registers for one input of 3 pixels. */
#define NNCC_F32_INPUTS3(of, i) \
    do { \
        NNCC_F32_INPUT3(of, i); \
        NNCC_F32_INPUT3(of, (i) + 1); \
    } while (0)

#endif

#endif /* NNCC_F32_SUMS_H */
