/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_wide.h: what the int16 kernels share: vectors, rounding products, limits. */
#ifndef NNCC_WIDE_H
#define NNCC_WIDE_H

#include "nncc_isa.h"
#include "nncc_s16.h"

#if NNCC_SIMD32
#include <arm_acle.h>
#endif

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1) && !defined(__ARM_BIG_ENDIAN)
#define NNCC_WIDE_MVE 1

#include <arm_mve.h>

/* v * mult / 2^31, rounded. */
#define nncc_wide_high4(v, mult) vqrdmulhq_n_s32((v), (mult))

/* v / 2^shift, ties away from zero; shift 1 to 31. */
static inline int32x4_t nncc_wide_down4(int32x4_t v, int32_t shift)
{
    return vrshlq_n_s32(vaddq_s32(v, vshrq_n_s32(v, 31)), -shift);
}

/* Eight int16 of their even and odd elements, saturated. */
static inline int16x8_t nncc_wide_join(int32x4_t even, int32x4_t odd)
{
    return vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), even), odd);
}

static inline int16x8_t nncc_wide_clamp8(int16x8_t v, int32_t lo, int32_t hi)
{
    return vminq_s16(vmaxq_s16(v, vdupq_n_s16((int16_t)lo)), vdupq_n_s16((int16_t)hi));
}
#else
#define NNCC_WIDE_MVE 0
#endif

/* Limits to int16 in one instruction where there is one. */
static inline int32_t nncc_wide_sat16(int32_t v)
{
#if NNCC_ASM
    int32_t r;

    __asm("ssat %0, #16, %1" : "=r"(r) : "r"(v) : "cc");
    return r;
#elif defined(NNCC_SSAT)
    return NNCC_SSAT(v, 16);
#else
    return v < -32768 ? -32768 : (v > 32767 ? 32767 : v);
#endif
}

/* c + the upper 32 bits of 2^31 + v * m. */
static inline int32_t nncc_wide_high(int32_t v, int32_t m, int32_t c)
{
#if NNCC_SIMD32 && NNCC_ASM
    int32_t r;

    __asm("smmlar %0, %1, %2, %3" : "=r"(r) : "r"(v), "r"(m), "r"(c));
    return r;
#elif defined(__thumb2__) && !NNCC_ASM
    const int64_t from = (int64_t)(((uint64_t)(uint32_t)c << 32) | 0x80000000u);

    return (int32_t)((from + (int64_t)v * m) >> 32);
#else
    return c + (int32_t)(((int64_t)v * m + 0x80000000LL) >> 32);
#endif
}

/* c + the upper 32 bits of v * m. */
static inline int32_t nncc_wide_floor(int32_t v, int32_t m, int32_t c)
{
#if NNCC_SIMD32 && NNCC_ASM
    int32_t r;

    __asm("smmla %0, %1, %2, %3" : "=r"(r) : "r"(v), "r"(m), "r"(c));
    return r;
#else
    return c + (int32_t)(((int64_t)v * m) >> 32);
#endif
}

/* c + v * m / 2^31, rounded; v less than 2^30, or 2^30 where 1 less has the same result. */
static inline int32_t nncc_wide_double_high(int32_t v, int32_t m, int32_t c)
{
#if NNCC_SIMD32 && NNCC_ASM
    int32_t r;

    __asm("qadd %0, %1, %1\n\tsmmlar %0, %0, %2, %3" : "=&r"(r) : "r"(v), "r"(m), "r"(c));
    return r;
#elif NNCC_SIMD32
    return nncc_wide_high(__qadd(v, v), m, c);
#else
    return c + (int32_t)(((int64_t)v * m + 0x40000000LL) >> 31);
#endif
}

/*
 * A value that every element adds: without SMMLAR it begins a sum of two words, and a load from the stack does that as
 * well as a copy of a register, of which there are not enough.
 */
#if NNCC_ASM
#define NNCC_WIDE_ADDEND const int32_t
#else
#define NNCC_WIDE_ADDEND const volatile int32_t
#endif

/* v, multiplied by 2^k: no undefined shift of negative values. */
#define NNCC_WIDE_LEFT(v, k) ((int32_t)((uint32_t)(v) << (k)))

/*
 * y[i] = value for i < n, an expression of u = a[i] and v = b[i], limited. Where results are only saturated four at a
 * time, if one instruction does it: code that is seldom run is short.
 */
#if NNCC_ASM || defined(NNCC_SSAT)
#define NNCC_WIDE_LOOP(lo, hi, value) \
    do { \
        if ((lo) <= -32768 && (hi) >= 32767) { \
            NNCC_WIDE_ROW(value, nncc_wide_sat16(r)); \
        } else { \
            NNCC_WIDE_SHORT(value, NNCC_WIDE_LIMIT(r, lo, hi)); \
        } \
    } while (0)
#define NNCC_WIDE_MAP(lo, hi, value) \
    do { \
        if ((lo) <= -32768 && (hi) >= 32767) { \
            NNCC_WIDE_EACH(value, nncc_wide_sat16(r)); \
        } else { \
            NNCC_WIDE_EACH_SHORT(value, NNCC_WIDE_LIMIT(r, lo, hi)); \
        } \
    } while (0)
#else
#define NNCC_WIDE_LOOP(lo, hi, value) NNCC_WIDE_SHORT(value, NNCC_WIDE_LIMIT(r, lo, hi))
#define NNCC_WIDE_MAP(lo, hi, value) NNCC_WIDE_EACH_SHORT(value, NNCC_WIDE_LIMIT(r, lo, hi))
#endif

#define NNCC_WIDE_LIMIT(r, lo, hi) ((r) < (lo) ? (lo) : ((r) > (hi) ? (hi) : (r)))

#define NNCC_WIDE_ONE(i, value, result) \
    do { \
        const int32_t u = a[i], v = b[i]; \
        const int32_t r = value; \
\
        y[i] = (int16_t)(result); \
    } while (0)

#define NNCC_WIDE_ROW(value, result) \
    do { \
        NNCC_ROLLED \
        for (int32_t k = n >> 2; k > 0; k--) { \
            NNCC_WIDE_ONE(0, value, result); \
            NNCC_WIDE_ONE(1, value, result); \
            NNCC_WIDE_ONE(2, value, result); \
            NNCC_WIDE_ONE(3, value, result); \
            a += 4; \
            b += 4; \
            y += 4; \
        } \
        n &= 3; \
        NNCC_WIDE_SHORT(value, result); \
    } while (0)

#define NNCC_WIDE_SHORT(value, result) \
    do { \
        for (; n > 0; n--) { \
            NNCC_WIDE_ONE(0, value, result); \
            a++; \
            b++; \
            y++; \
        } \
    } while (0)

/* The same with eight: value is an expression of the vectors u and v, the last ones predicated in memory. */
#define NNCC_WIDE_VECTORS(value) \
    do { \
        for (; n >= 8; n -= 8) { \
            const int16x8_t u = vldrhq_s16(a), v = vldrhq_s16(b); \
\
            vstrhq_s16(y, value); \
            a += 8; \
            b += 8; \
            y += 8; \
        } \
        if (n > 0) { \
            const mve_pred16_t some = vctp16q((uint32_t)n); \
            const int16x8_t u = vldrhq_z_s16(a, some), v = vldrhq_z_s16(b, some); \
\
            vstrhq_p_s16(y, value, some); \
        } \
    } while (0)

/* The same of one row: value is an expression of u = a[i]. */
#define NNCC_WIDE_FROM(i, value, result) \
    do { \
        const int32_t u = a[i]; \
        const int32_t r = value; \
\
        y[i] = (int16_t)(result); \
    } while (0)

#define NNCC_WIDE_EACH(value, result) \
    do { \
        NNCC_ROLLED \
        for (int32_t k = n >> 2; k > 0; k--) { \
            NNCC_WIDE_FROM(0, value, result); \
            NNCC_WIDE_FROM(1, value, result); \
            NNCC_WIDE_FROM(2, value, result); \
            NNCC_WIDE_FROM(3, value, result); \
            a += 4; \
            y += 4; \
        } \
        n &= 3; \
        NNCC_WIDE_EACH_SHORT(value, result); \
    } while (0)

#define NNCC_WIDE_EACH_SHORT(value, result) \
    do { \
        for (; n > 0; n--) { \
            NNCC_WIDE_FROM(0, value, result); \
            a++; \
            y++; \
        } \
    } while (0)

#define NNCC_WIDE_MAP_VECTORS(value) \
    do { \
        for (; n >= 8; n -= 8) { \
            const int16x8_t u = vldrhq_s16(a); \
\
            vstrhq_s16(y, value); \
            a += 8; \
            y += 8; \
        } \
        if (n > 0) { \
            const mve_pred16_t some = vctp16q((uint32_t)n); \
            const int16x8_t u = vldrhq_z_s16(a, some); \
\
            vstrhq_p_s16(y, value, some); \
        } \
    } while (0)

#endif /* NNCC_WIDE_H */
