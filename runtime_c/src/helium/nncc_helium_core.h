/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_core.h: what the Helium kernels share: when the vector bodies are compiled, and the requantisation.
 *
 * Innermost loops have a body in inline assembly, as GCC 12 moves predicates and accumulators about where it compiles
 * intrinsics, and one in intrinsics for compilers without it. In assembly operands have registers of their own
 * (NNCC_REG), never r7, the frame pointer of unoptimised builds: that compiles at any level.
 */
#include "nncc_helium.h"

#include <string.h>

#include "nncc_isa.h"
#include "nncc_mve.h"

/* Bodies with Helium; in assembly. */
#define NNCC_HELIUM_MVE NNCC_MVE
#define NNCC_HELIUM_ASM (NNCC_MVE && NNCC_ASM)

/* Bytes in a vector. */
#define NNCC_HELIUM_BYTES 16

/* What pointers to rows are biased by, so that 9 vectors are in reach. In intrinsics no offset is 0, where GCC would
 * copy the pointer and move the copy. */
#if NNCC_HELIUM_MVE && !NNCC_HELIUM_ASM
#define NNCC_ROW_BIAS 60
#else
#define NNCC_ROW_BIAS 64
#endif

#if NNCC_HELIUM_ASM

/* A variable in a core register, for the assembly that follows at once. */
#define NNCC_REG(type, name, reg, value) register type name __asm(reg) = (value)

/* Ties of the right shift go away from zero: negative values one down before VRSHL rounds them up. t is a free vector.
 */
#define NNCC_ROUND_ALL(q, t) "vshr.s32 " #t ", " #q ", #31\nvadd.i32 " #q ", " #q ", " #t "\n"
/* Negative values end at act_min whichever way they are rounded. */
#define NNCC_ROUND_RELU(q, t) ""

#else

#include "nncc_requant.h"

/* Input i of int16 at any address. */
static inline int32_t nncc_input16(const int8_t *x, int32_t i)
{
    int16_t v;

    memcpy(&v, x + 2 * i, sizeof v);
    return v;
}

/* v, clamped, to y. */
static inline void nncc_result16(int32_t v, int32_t lo, int32_t hi, int8_t *y)
{
    const int16_t out = (int16_t)(v < lo ? lo : (v > hi ? hi : v));

    memcpy(y, &out, sizeof out);
}

#if NNCC_HELIUM_MVE

#include <arm_mve.h>

/* Ties of the right shift go away from zero: negative values one down before VRSHL rounds them up. */
#define NNCC_ROUND_ALL(v) vaddq_s32(v, vshrq_n_s32(v, 31))
/* Negative values end at act_min whichever way they are rounded. */
#define NNCC_ROUND_RELU(v) (v)

/* A vector of packed weights: words have a longer reach than bytes. */
static inline int8x16_t nncc_weights(const int8_t *w)
{
    return vreinterpretq_s8_s32(vldrwq_s32((const int32_t *)(const void *)w));
}

/* Eight inputs of int16; rows begin at any multiple of two bytes. */
static inline int16x8_t nncc_inputs16(const int8_t *x)
{
    return vldrhq_s16((const int16_t *)(const void *)x);
}

static inline int32x4_t nncc_words(const int8_t *w)
{
    return vldrwq_s32((const int32_t *)(const void *)w);
}

static inline int32x4_t nncc_four(int32_t a, int32_t b, int32_t c, int32_t d)
{
    return vsetq_lane_s32(d, vsetq_lane_s32(c, vsetq_lane_s32(b, vdupq_n_s32(a), 1), 2), 3);
}

#else

/* sum * m / 2^(31 + shift), rounded once. */
static inline int32_t nncc_rounded16(int32_t sum, int32_t m, int32_t shift)
{
    return (int32_t)(((((int64_t)sum * m) >> 31) + ((int64_t)1 << (shift - 1))) >> shift);
}

/* The result of a sum in one rounding (nncc_helium.h, upper); sums wrap. */
static inline int8_t nncc_upper_s8(int32_t acc, int32_t scale, int32_t bias, int32_t below, int32_t mult,
                                   int32_t offset)
{
    int32_t a = (int32_t)((uint32_t)acc * (uint32_t)scale + (uint32_t)bias);

    if (a < 0) {
        a = (int32_t)((uint32_t)a + (uint32_t)below);
    }
    int64_t v = ((int64_t)a * mult + (((int64_t)offset + 65536) * 2 + 1) * ((int64_t)1 << 30)) >> 48;
    return (int8_t)(v < -128 ? -128 : (v > 127 ? 127 : v));
}

#endif
#endif
