/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_pair.h: what the functions of two int8 rows share. */
#include "nncc_isa.h"
#include "nncc_mve.h"
#include "nncc_s8.h"
#include "nncc_saturate.h"

#if NNCC_MVE && NNCC_ASM
#define NNCC_PAIR_MVE 1
#else
#define NNCC_PAIR_MVE 0
#endif

/* Whether rows are read and written by words, and a pointer that then is one to words. */
#if defined(__ARM_FEATURE_UNALIGNED)
#define NNCC_PAIR_WORDS(a, b, y) 1
#else
#define NNCC_PAIR_WORDS(a, b, y) ((((uintptr_t)(a) | (uintptr_t)(b) | (uintptr_t)(y)) & 3u) == 0)
#endif

#if defined(__GNUC__) && !defined(__ARM_FEATURE_UNALIGNED)
#define NNCC_PAIR_WHOLE(p) __builtin_assume_aligned(p, 4)
#else
#define NNCC_PAIR_WHOLE(p) (p)
#endif

/* The upper 32 bits of 2^31 + v * m, which is rounded; v is even, up to 130,560. */
static inline int32_t nncc_pair_high(int32_t v, int32_t m)
{
#if NNCC_SIMD32 && NNCC_ASM
    int32_t r;

    __asm("smmulr %0, %1, %2" : "=r"(r) : "r"(v), "r"(m));
    return r;
#elif defined(__thumb__) && !defined(__thumb2__)
    /* No product has 64 bits: those of the upper 16 bits of m, and half of those of the lower ones, fit into 32. */
    const int32_t half = v >> 1, low = m & 0xffff;

    return (half * (m >> 16) + 16384 + ((half * (low >> 1) + ((half & -(low & 1)) >> 1)) >> 15)) >> 15;
#else
    return (int32_t)(((int64_t)v * m + 0x80000000LL) >> 32);
#endif
}

/* The same and c. */
static inline int32_t nncc_pair_high_add(int32_t v, int32_t m, int32_t c)
{
#if NNCC_SIMD32 && NNCC_ASM
    int32_t r;

    __asm("smmlar %0, %1, %2, %3" : "=r"(r) : "r"(v), "r"(m), "r"(c));
    return r;
#elif defined(__thumb2__) && !NNCC_ASM
    const int64_t from = (int64_t)(((uint64_t)(uint32_t)c << 32) | 0x80000000u);

    return (int32_t)((from + (int64_t)v * m) >> 32);
#else
    return nncc_pair_high(v, m) + c;
#endif
}

/* v between lo and hi. Clang copies v for a comparison within another one; GCC branches, and that is less. */
#if defined(__clang__)
static inline int32_t nncc_pair_limit(int32_t v, int32_t lo, int32_t hi)
{
    v = v < lo ? lo : v;
    return v > hi ? hi : v;
}
#define NNCC_PAIR_LIMIT(v, lo, hi) nncc_pair_limit(v, lo, hi)
#else
#define NNCC_PAIR_LIMIT(v, lo, hi) ((v) < (lo) ? (lo) : ((v) > (hi) ? (hi) : (v)))
#endif

/*
 * y[i] = value for i < n; value is an expression of u = a[i] and v = b[i]. Four at a time: what loads give is not
 * waited for. Nothing is compared with lo and hi where they are the ends of int8.
 */
#define NNCC_PAIR_LOOP(lo, hi, value) \
    do { \
        if ((lo) <= -128 && (hi) >= 127) { \
            NNCC_PAIR_ROW(value, nncc_sat8(r)); \
        } else { \
            NNCC_PAIR_ROW(value, NNCC_PAIR_LIMIT(r, lo, hi)); \
        } \
    } while (0)

#define NNCC_PAIR_ONE(i, value, result) \
    do { \
        const int32_t u = a[i], v = b[i]; \
        const int32_t r = value; \
\
        y[i] = (int8_t)(result); \
    } while (0)

/* Where bytes count, one at a time. */
#if defined(__OPTIMIZE_SIZE__)
#define NNCC_PAIR_QUADS(value, result)
#else
#define NNCC_PAIR_QUADS(value, result) \
    NNCC_ROLLED \
    for (int32_t k = n >> 2; k > 0; k--) { \
        NNCC_PAIR_ONE(0, value, result); \
        NNCC_PAIR_ONE(1, value, result); \
        NNCC_PAIR_ONE(2, value, result); \
        NNCC_PAIR_ONE(3, value, result); \
        a += 4; \
        b += 4; \
        y += 4; \
    } \
    n &= 3;
#endif

#define NNCC_PAIR_ROW(value, result) \
    do { \
        NNCC_PAIR_QUADS(value, result) \
        NNCC_ROLLED \
        for (; n > 0; n--) { \
            NNCC_PAIR_ONE(0, value, result); \
            a++; \
            b++; \
            y++; \
        } \
    } while (0)

/* Whether results of lo to hi are those of nncc_sat8, and that takes less than to compare them. */
#if NNCC_ASM || defined(NNCC_SSAT)
#define NNCC_PAIR_SATURATED(lo, hi) ((lo) <= -128 && (hi) >= 127)
#else
#define NNCC_PAIR_SATURATED(lo, hi) 0
#endif

#if defined(__OPTIMIZE_SIZE__)
#define NNCC_PAIR_APART_QUADS(step, value, result)
#else
#define NNCC_PAIR_APART_QUADS(step, value, result) \
    const int32_t three = 3 * (step); \
\
    NNCC_ROLLED \
    for (int32_t k = n >> 2; k > 0; k--) { \
        NNCC_PAIR_AT(0, value, result); \
        NNCC_PAIR_AT(step, value, result); \
        NNCC_PAIR_AT(2 * (step), value, result); \
        NNCC_PAIR_AT(three, value, result); \
        x += 4 * (step); \
        y += 4 * (step); \
    } \
    n &= 3;
#endif

/*
 * y[i] = result, an expression of r = value, and this one of u = x[i], for n elements that lie step apart: a channel's,
 * whose constants stay in registers.
 */
#define NNCC_PAIR_APART(step, value, result) \
    do { \
        NNCC_PAIR_APART_QUADS(step, value, result) \
        NNCC_ROLLED \
        for (; n > 0; n--) { \
            NNCC_PAIR_AT(0, value, result); \
            x += step; \
            y += step; \
        } \
    } while (0)

#define NNCC_PAIR_AT(i, value, result) \
    do { \
        const int32_t u = x[i]; \
        const int32_t r = value; \
\
        y[i] = (int8_t)(result); \
    } while (0)

#if NNCC_MVE

/* The same with vectors: value is an expression of u and v, four words or eight halfwords of each row. */
#define NNCC_PAIR_FOURS(value) NNCC_MVE_LOOP(n, 4, vctp32q, NNCC_PAIR_FOUR, value)
#define NNCC_PAIR_EIGHTS(value) NNCC_MVE_LOOP(n, 8, vctp16q, NNCC_PAIR_EIGHT, value)
#define NNCC_PAIR_MOVE(k) (a += (k), b += (k), y += (k))
#define NNCC_PAIR_FOUR(what, value) \
    do { \
        const int32x4_t u = NNCC_GET4##what(a), v = NNCC_GET4##what(b); \
\
        NNCC_PUT4##what(y, value); \
        NNCC_PAIR_MOVE(4); \
    } while (0)
#define NNCC_PAIR_EIGHT(what, value) \
    do { \
        const int16x8_t u = NNCC_GET8##what(a), v = NNCC_GET8##what(b); \
\
        NNCC_PUT8##what(y, value); \
        NNCC_PAIR_MOVE(8); \
    } while (0)
/* Of sixteen bytes each. */
#define NNCC_PAIR_SIXTEEN(what, function) \
    do { \
        NNCC_PUT16S##what(y, function(NNCC_GET16S##what(a), NNCC_GET16S##what(b))); \
        NNCC_PAIR_MOVE(16); \
    } while (0)

/* The same with v for all values of b. */
#define NNCC_PAIR_ROW_SIXTEEN(what, function) \
    do { \
        NNCC_PUT16S##what(y, function(NNCC_GET16S##what(a), v)); \
        a += 16; \
        y += 16; \
    } while (0)

#endif
