/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_loops.h: what functions that nncc writes for a single node call.
 *
 * Such a function has the sizes of its operands as numbers and reads and writes elements of any type; it computes in
 * double (floating point), int64_t or uint64_t (integers), and rounds or wraps once per result. A value here is one
 * element, not a tensor: v, or a and b. Results are those of the ONNX operators, bit for bit as ir/qref has them.
 */
#include <math.h>

#include "nncc.h"
#include "nncc_fp.h"

/* ---- element types of 16 bits ---------------------------------------------------------------- */

/* IEEE binary16: exact to float, to nearest even back, with subnormals and infinities. */
/* KERNELS(f16) */

/* bfloat16, the upper half of a float: exact to float, to nearest even back. */
/* KERNELS(bf16) */

/* ---- conversions ----------------------------------------------------------------------------- */

/*
 * v in double. With vectors and double precision in hardware GCC may make the conversion conditional, and the GNU
 * assembler refuses "vcvtne.f64.f32": it reads the vector instruction vcvtn there. Behind a statement in assembly, even
 * an empty one, nothing is made conditional.
 */
static inline double nncc_el_widen_f32(float v)
{
#if defined(NNCC_NO_ASM)
    volatile double d = (double)v;
#else
    double d = (double)v;
#endif
#if defined(__GNUC__) && !defined(NNCC_NO_ASM) && defined(__ARM_FEATURE_MVE) && defined(__ARM_FP) && (__ARM_FP & 8)
    __asm volatile("" : "+w"(d));
#endif
    return d;
}

/* Towards zero, clamped to the type's range; NaN becomes 0. */
/* KERNELS(f64_to_int) */

/* Nearest, ties to even, whatever the rounding mode is. */
/* KERNELS(nncc_nearest_f64) */

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Minimum and maximum; NaN if either is, and -0 is below +0. */
/* KERNELS(minmax_f64) */

/* a / b towards zero; b is not 0, and the most negative number over -1 wraps. */
/* KERNELS(nncc_div_i64) */

/* a - b * (a / b): sign of the divisor (floor_mod not 0) or of the dividend; b is not 0. */
/* KERNELS(nncc_mod_i64) */

/* a to the power b modulo 2^64; a negative power truncates to 0 unless a is 1 or -1. */
/* KERNELS(nncc_pow_i64) */

/* Logistic function, and ln(1 + exp(v)), without overflow. */
/* KERNELS(sigmoid_f64) */

/* ---- fixed point ----------------------------------------------------------------------------- */

/*
 * TensorFlow Lite's steps on int32 in int64. Multipliers are in Q31; a positive shift is to the left, and wraps:
 * v * mult * 2^(shift - 31), rounded after the product and, with ties away from zero, after a shift to the right; a / b
 * likewise, 0 where b is 0; 1 / sqrt(v) as a multiplier and, above 32 bits, its shift; the logarithm of Q12.19 as
 * Q5.26.
 */
/* KERNELS(fixed) */

/* Logistic function and hyperbolic tangent of v * mult * 2^shift (shift <= 0) in units of 1/12288, as Q0.15. */
/* KERNELS(curve_s16) */

/* Square root of v, rounded; scale times the natural logarithm of v << shift in 1/65536, at most 32767. */
/* KERNELS(signal) */

/* ---- sampling -------------------------------------------------------------------------------- */

/* v mirrored at lo and hi until it lies between them; lo where they are one. */
/* KERNELS(nncc_reflect_f64) */

/* Weight of a sample at distance v with the cubic's coefficient a. */
/* KERNELS(nncc_cubic_f64) */
