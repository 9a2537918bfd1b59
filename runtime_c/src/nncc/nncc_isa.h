/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_isa.h: which bodies of kernels are compiled. Instructions of Helium and of the DSP extension come from inline
 * assembly or, for compilers without GNU assembly and with -DNNCC_NO_ASM, from intrinsics (arm_mve.h, arm_acle.h).
 */

/* GNU assembly in Thumb-2. */
#if defined(__GNUC__) && defined(__thumb2__) && !defined(NNCC_NO_ASM)
#define NNCC_ASM 1
#else
#define NNCC_ASM 0
#endif

/* Helium on integers, and on floats; the DSP extension. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1) && !defined(__ARM_BIG_ENDIAN)
#define NNCC_MVE 1
#else
#define NNCC_MVE 0
#endif
/* Helium in intrinsics. */
#define NNCC_MVE_C (NNCC_MVE && !NNCC_ASM)
#if defined(__ARM_FEATURE_DSP) && !defined(__ARM_BIG_ENDIAN)
#define NNCC_SIMD32 1
#else
#define NNCC_SIMD32 0
#endif

/* SSAT without assembly. GCC's __ssat is a macro that converts signs. */
#if defined(__ARM_FEATURE_SAT) && defined(__GNUC__)
#define NNCC_SSAT(v, bits) ((int32_t)__builtin_arm_ssat(v, bits))
#define NNCC_SSAT16(v, bits) ((uint32_t)__builtin_arm_ssat16((int32_t)(v), bits))
#elif defined(__ARM_FEATURE_SAT)
#include <arm_acle.h>
#define NNCC_SSAT(v, bits) __ssat(v, bits)
#define NNCC_SSAT16(v, bits) ((uint32_t)__ssat16((int16x2_t)(v), bits))
#endif

/*
 * For functions whose sums fill all registers: GCC, left alone, loads everything first, runs out of them and stores
 * sums on the stack.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define NNCC_IN_ORDER __attribute__((optimize("O2", "no-schedule-insns")))
#else
#define NNCC_IN_ORDER
#endif

/* For parts of such functions. */
#if defined(__GNUC__)
#define NNCC_INLINED static inline __attribute__((always_inline))
#else
#define NNCC_INLINED static inline
#endif

/* A function by itself: it has the registers. */
#if defined(__GNUC__)
#define NNCC_APART __attribute__((noinline))
#else
#define NNCC_APART
#endif

/* A loop as it is: Clang, left alone, unrolls it and keeps an address for each access. */
#if defined(__clang__)
#define NNCC_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define NNCC_ROLLED
#endif
