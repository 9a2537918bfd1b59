/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_fp.h: floating point that gives the same bits on every core.
 *
 * Included first by every kernel that computes in float or double. It turns off the contraction of a*b+c into one
 * fused operation (which rounds once instead of twice), and, where the compiler allows it, value-changing
 * "fast math" that a project may have switched on globally.
 */
#if defined(__clang__)
/* Clang and Arm Compiler 6. The pragma cannot undo -ffast-math. */
#pragma STDC FP_CONTRACT OFF
#if defined(__FAST_MATH__) && !defined(NNCC_ALLOW_FAST_MATH)
#error "nncc kernels need IEEE arithmetic: no -ffast-math, no -Ofast (or define NNCC_ALLOW_FAST_MATH)"
#endif
#elif defined(__GNUC__)
/* GCC has no STDC FP_CONTRACT; its optimize pragma covers both. */
#pragma GCC optimize("fp-contract=off")
#pragma GCC optimize("no-fast-math")
#else
/* IAR and other C99 compilers. */
#pragma STDC FP_CONTRACT OFF
#endif
