/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_simd32.h: instructions of the DSP extension on two or four values in a word, as functions; in C where there are
 * none.
 */
#ifndef NNCC_SIMD32_H
#define NNCC_SIMD32_H

#include <stdint.h>
#include <string.h>

#include "nncc_isa.h"

#define NNCC_SIMD32_ASM (NNCC_SIMD32 && NNCC_ASM)

#if NNCC_SIMD32
#include <arm_acle.h>
#endif

/* Four bytes or two halves at any address. */
static inline uint32_t nncc_load_word(const void *x)
{
    uint32_t w;

    memcpy(&w, x, sizeof w);
    return w;
}

static inline void nncc_store_word(void *y, uint32_t w)
{
    memcpy(y, &w, sizeof w);
}

/* Cores that read words at multiples of 4 only take others byte by byte. */
#if defined(__arm__) && !defined(__ARM_FEATURE_UNALIGNED)
#define NNCC_WORDS_ANYWHERE 0
#if defined(__GNUC__)
#define NNCC_WORD_AT(p) __builtin_assume_aligned(p, 4)
#else
#define NNCC_WORD_AT(p) (p)
#endif
#else
#define NNCC_WORDS_ANYWHERE 1
#define NNCC_WORD_AT(p) (p)
#endif

/* Four bytes at a multiple of 4, or anywhere if the core reads words there. */
static inline uint32_t nncc_load_word_at(const void *x)
{
    return nncc_load_word(NNCC_WORD_AT(x));
}

static inline void nncc_store_word_at(void *y, uint32_t w)
{
    memcpy(NNCC_WORD_AT(y), &w, sizeof w);
}

/* Words from x and to y on, n bytes from each other, can be read and written. */
static inline int32_t nncc_words_fit(const void *x, const void *y, int32_t n)
{
    return NNCC_WORDS_ANYWHERE || (((uintptr_t)x | (uintptr_t)y | (uintptr_t)n) & 3u) == 0u ? 1 : 0;
}

/* The lower and the upper half of a word, signed. */
static inline int32_t nncc_low_half(uint32_t w)
{
    return (int16_t)(uint16_t)(w & 0xffffu);
}

static inline int32_t nncc_high_half(uint32_t w)
{
    return (int16_t)(uint16_t)(w >> 16);
}

/* A word of the lower half of low and the lower, or the upper half of high. */
static inline uint32_t nncc_pack_low(uint32_t low, uint32_t high)
{
#if NNCC_SIMD32_ASM
    uint32_t r;

    __asm("pkhbt %0, %1, %2, lsl #16" : "=r"(r) : "r"(low), "r"(high));
    return r;
#else
    return (low & 0xffffu) | (high << 16);
#endif
}

static inline uint32_t nncc_pack_high(uint32_t low, uint32_t high)
{
#if NNCC_SIMD32_ASM
    uint32_t r;

    __asm("pkhtb %0, %2, %1, asr #16" : "=r"(r) : "r"(low), "r"(high));
    return r;
#elif NNCC_SIMD32
    const uint16_t half = (uint16_t)(low >> 16);

    memcpy(&high, &half, sizeof half); /* BFI */
    return high;
#else
    return (low >> 16) | (high & 0xffff0000u);
#endif
}

/* Two sums of 16 bits. */
static inline uint32_t nncc_add16(uint32_t a, uint32_t b)
{
#if NNCC_SIMD32
    return (uint32_t)__sadd16((int16x2_t)a, (int16x2_t)b);
#else
    return ((a + b) & 0xffffu) | ((a & 0xffff0000u) + (b & 0xffff0000u));
#endif
}

/* Two differences of 16 bits. */
static inline uint32_t nncc_sub16(uint32_t a, uint32_t b)
{
#if NNCC_SIMD32_ASM
    uint32_t r;

    __asm("ssub16 %0, %1, %2" : "=r"(r) : "r"(a), "r"(b));
    return r;
#elif NNCC_SIMD32
    return (uint32_t)__ssub16((int16x2_t)a, (int16x2_t)b);
#else
    return nncc_add16(nncc_add16(a, ~b), 0x10001u);
#endif
}

/* sum plus the even bytes of v, signed; the odd ones. */
static inline uint32_t nncc_add_even(uint32_t sum, uint32_t v)
{
#if NNCC_SIMD32
    return (uint32_t)__sxtab16((int16x2_t)sum, (int8x4_t)v);
#else
    const uint32_t low = (uint32_t)(int32_t)(int8_t)(uint8_t)(v & 255u);
    const uint32_t high = (uint32_t)(int32_t)(int8_t)(uint8_t)((v >> 16) & 255u);

    return nncc_add16(sum, nncc_pack_low(low, high));
#endif
}

static inline uint32_t nncc_add_odd(uint32_t sum, uint32_t v)
{
#if NNCC_SIMD32_ASM
    uint32_t r;

    __asm("sxtab16 %0, %1, %2, ror #8" : "=r"(r) : "r"(sum), "r"(v));
    return r;
#else
    return nncc_add_even(sum, (v >> 8) | (v << 24));
#endif
}

/* The even bytes of v as two signed halves; the odd ones. */
static inline uint32_t nncc_even_bytes(uint32_t v)
{
#if NNCC_SIMD32
    return (uint32_t)__sxtb16((int8x4_t)v);
#else
    return nncc_add_even(0, v);
#endif
}

static inline uint32_t nncc_odd_bytes(uint32_t v)
{
#if NNCC_SIMD32_ASM
    uint32_t r;

    __asm("sxtb16 %0, %1, ror #8" : "=r"(r) : "r"(v));
    return r;
#else
    return nncc_even_bytes((v >> 8) | (v << 24)); /* Clang knows the rotation */
#endif
}

/* sum and the products of the halves of a and b; they stay in 32 bits. */
static inline int32_t nncc_dual_add(int32_t sum, uint32_t a, uint32_t b)
{
#if NNCC_SIMD32
    return __smlad((int16x2_t)a, (int16x2_t)b, sum);
#else
    return sum + nncc_low_half(a) * nncc_low_half(b) + nncc_high_half(a) * nncc_high_half(b);
#endif
}

/* sum + half * m / 2^16, rounded down, of the lower and the upper half of w; sums stay in 32 bits. */
static inline int32_t nncc_scale_low(int32_t sum, int32_t m, uint32_t w)
{
#if NNCC_SIMD32
    return __smlawb(m, (int32_t)w, sum);
#else
    return sum + (int32_t)(((int64_t)m * nncc_low_half(w)) >> 16);
#endif
}

static inline int32_t nncc_scale_high(int32_t sum, int32_t m, uint32_t w)
{
#if NNCC_SIMD32
    return __smlawt(m, (int32_t)w, sum);
#else
    return sum + (int32_t)(((int64_t)m * nncc_high_half(w)) >> 16);
#endif
}

#if NNCC_SIMD32

/* Limited to -128 to 127. */
static inline int32_t nncc_narrow8(int32_t v)
{
    return NNCC_SSAT(v, 8);
}

#endif

/* 255 for each signed byte of a that is not below that of b, without instructions for bytes. */
static inline uint32_t nncc_not_below8(uint32_t a, uint32_t b)
{
    const uint32_t differ = a ^ b;
    const uint32_t below = (a | 0x80808080u) - (b & 0x7f7f7f7fu); /* the upper bits: the others of a are not below */
    const uint32_t top = ((b & differ) | (below & ~differ)) & 0x80808080u;

    return (top << 1) - (top >> 7);
}

/* The larger of two signed bytes, four times; the smaller. */
static inline uint32_t nncc_max8(uint32_t a, uint32_t b)
{
#if NNCC_SIMD32_ASM
    uint32_t t;

    __asm("ssub8 %0, %1, %2\n\tsel %1, %1, %2" : "=&r"(t), "+r"(a) : "r"(b));
    return a;
#elif NNCC_SIMD32
    (void)__ssub8((int8x4_t)a, (int8x4_t)b);
    return (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
#else
    return b ^ ((a ^ b) & nncc_not_below8(a, b));
#endif
}

static inline uint32_t nncc_min8(uint32_t a, uint32_t b)
{
#if NNCC_SIMD32_ASM
    uint32_t t;

    __asm("ssub8 %0, %1, %2\n\tsel %1, %2, %1" : "=&r"(t), "+r"(a) : "r"(b));
    return a;
#elif NNCC_SIMD32
    (void)__ssub8((int8x4_t)a, (int8x4_t)b);
    return (uint32_t)__sel((uint8x4_t)b, (uint8x4_t)a);
#else
    return a ^ ((a ^ b) & nncc_not_below8(a, b));
#endif
}

#if NNCC_SIMD32

/* The larger of two signed halves, twice; the smaller. */
static inline uint32_t nncc_max16(uint32_t a, uint32_t b)
{
#if NNCC_SIMD32_ASM
    uint32_t t;

    __asm("ssub16 %0, %1, %2\n\tsel %1, %1, %2" : "=&r"(t), "+r"(a) : "r"(b));
    return a;
#else
    (void)__ssub16((int16x2_t)a, (int16x2_t)b);
    return (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
#endif
}

static inline uint32_t nncc_min16(uint32_t a, uint32_t b)
{
#if NNCC_SIMD32_ASM
    uint32_t t;

    __asm("ssub16 %0, %1, %2\n\tsel %1, %2, %1" : "=&r"(t), "+r"(a) : "r"(b));
    return a;
#else
    (void)__ssub16((int16x2_t)a, (int16x2_t)b);
    return (uint32_t)__sel((uint8x4_t)b, (uint8x4_t)a);
#endif
}

#endif

#endif /* NNCC_SIMD32_H */
