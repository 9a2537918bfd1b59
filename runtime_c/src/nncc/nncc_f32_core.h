/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_core.h: which bodies float32 products have: NNCC_F32_MVE, for Helium, in assembly (NNCC_F32_MVE_ASM) or in
 * intrinsics, NNCC_F32_FPU, assembly for other cores that multiply and add floats in an instruction, or C.
 */
#ifndef NNCC_F32_CORE_H
#define NNCC_F32_CORE_H

#include "nncc_isa.h"

#if NNCC_MVE && (__ARM_FEATURE_MVE & 2)
#include <arm_mve.h>
#define NNCC_F32_MVE 1
#define NNCC_F32_MVE_ASM NNCC_ASM
#else
#define NNCC_F32_MVE 0
#define NNCC_F32_MVE_ASM 0
#endif

/* For loops in intrinsics: as NNCC_IN_ORDER, pointers are left as they are written, and two words one value. */
#if defined(__GNUC__) && !defined(__clang__)
#define NNCC_F32_IN_ORDER \
    __attribute__((optimize("O2", "no-schedule-insns", "no-tree-scev-cprop", "no-ivopts", "no-split-wide-types")))
#else
#define NNCC_F32_IN_ORDER
#endif
/* No load moves up over it: Clang would put a sum on the stack for weights that are not used yet. */
#if defined(__clang__)
#define NNCC_F32_NOW __atomic_signal_fence(__ATOMIC_SEQ_CST)
#else
#define NNCC_F32_NOW ((void)0)
#endif

#if !NNCC_F32_MVE && defined(__ARM_FP) && (__ARM_FP & 4) && defined(__ARM_FEATURE_FMA) && NNCC_ASM
#define NNCC_F32_FPU 1
#else
#define NNCC_F32_FPU 0
#endif

#endif /* NNCC_F32_CORE_H */
