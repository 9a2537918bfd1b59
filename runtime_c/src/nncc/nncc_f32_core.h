/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_core.h: which bodies float32 products have: NNCC_F32_MVE, for Helium, in assembly (NNCC_F32_MVE_ASM) or in
 * intrinsics; NNCC_F32_FPU, for other cores that multiply and add floats in an instruction, in assembly
 * (NNCC_F32_FPU_ASM) or in C that compilers make of it what they can; or plain C.
 */
#include "nncc_isa.h"

#include <math.h>

#if NNCC_MVE && (__ARM_FEATURE_MVE & 2)
#include <arm_mve.h>
#define NNCC_F32_MVE 1
#define NNCC_F32_MVE_ASM NNCC_ASM
#else
#define NNCC_F32_MVE 0
#define NNCC_F32_MVE_ASM 0
#endif

/*
 * A vector within a limit, in assembly, the lower one a vector of it. NaN stays: LT is true of it, as the opposite of
 * GE; GT, which has no number on its left, is not. Intrinsics ask whether the limit is greater, which GCC makes of it;
 * Clang 14 makes LT of every "less", also in C.
 */
#define NNCC_F32_BELOW_MVE(v, lo) "vpt.f32 gt, " lo ", " v "\nvmovt " v ", " lo "\n"
#define NNCC_F32_BELOW_Q(v, least) vpselq_f32(least, v, vcmpgtq_f32(least, v))
#define NNCC_F32_ABOVE_MVE(v, hi) "vpt.f32 gt, " v ", " hi "\nvdupt.32 " v ", " hi "\n"

/*
 * For loops without assembly: as NNCC_IN_ORDER, pointers are left as they are written, and two words one value, in C
 * without a copy of either half.
 */
#if !defined(__GNUC__) || defined(__clang__)
#define NNCC_F32_IN_ORDER
#elif NNCC_F32_MVE
#define NNCC_F32_IN_ORDER \
    __attribute__((optimize("O2", "no-schedule-insns", "no-tree-scev-cprop", "no-ivopts", "no-split-wide-types")))
#else
#define NNCC_F32_IN_ORDER \
    __attribute__((optimize("O2", "no-schedule-insns", "no-tree-scev-cprop", "no-ivopts", "no-split-wide-types", \
                            "no-tree-ter", "no-tree-coalesce-vars")))
#endif
#if !NNCC_F32_MVE && defined(__ARM_FP) && (__ARM_FP & 4) && defined(__ARM_FEATURE_FMA) && __ARM_ARCH_PROFILE == 'M'
#define NNCC_F32_FPU 1
#define NNCC_F32_FPU_ASM NNCC_ASM
#else
#define NNCC_F32_FPU 0
#define NNCC_F32_FPU_ASM 0
#endif

/* Bodies of loops over sums, without assembly. */
#define NNCC_F32_C ((NNCC_F32_MVE && !NNCC_F32_MVE_ASM) || (NNCC_F32_FPU && !NNCC_F32_FPU_ASM))

#if NNCC_F32_FPU && !NNCC_F32_FPU_ASM && defined(__clang__)
/* Clang calls it, as it may set errno; of one that depends on nothing it makes VFMA. */
float fmaf(float, float, float) __attribute__((const));
#endif
