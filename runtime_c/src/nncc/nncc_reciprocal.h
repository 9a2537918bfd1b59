/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_reciprocal.h: the reciprocal of gemmlowp's softmax. */
#include "nncc_isa.h"
#include "nncc_requant.h"

/* Where bytes count, multiplications are calls: made in place they are half of a softmax. */
#if defined(__OPTIMIZE_SIZE__) && defined(__GNUC__)
#define NNCC_APART_IF_SMALL static __attribute__((noinline))
#else
#define NNCC_APART_IF_SMALL static inline
#endif

NNCC_APART_IF_SMALL int32_t nncc_apart_mult(int32_t a, int32_t b)
{
    return nncc_rq_high_mult(a, b);
}

/* a * b / 2^31, rounded, where twice a has 32 bits. */
static inline int32_t nncc_reciprocal_mult(int32_t a, int32_t b)
{
#if NNCC_SIMD32 && NNCC_ASM
    int32_t r;

    __asm("smmulr %0, %1, %2" : "=r"(r) : "r"(2 * a), "r"(b));
    return r;
#elif defined(__thumb2__) && !defined(__OPTIMIZE_SIZE__)
    return (int32_t)(((int64_t)(2 * a) * b + 0x80000000LL) >> 32);
#else
    return nncc_apart_mult(a, b);
#endif
}

/* 1 / v as Q0.31 for v in [1, 2), given times 2^31: 48/17 - 32/17 of the half, in Q2.29, and three Newton steps. */
static inline int32_t nncc_reciprocal(uint32_t v)
{
    const int32_t half = (int32_t)(v >> 1);
    int32_t x = 1515870810 + nncc_reciprocal_mult(-1010580540, half);

    for (int32_t i = 0; i < 3; i++) {
        x += 4 * nncc_reciprocal_mult(x, ((int32_t)1 << 29) - nncc_reciprocal_mult(x, half));
    }
    return x < ((int32_t)1 << 30) ? 2 * x : INT32_MAX;
}
