/*
 * nncc_loops.h: what functions that nncc writes for a single node call.
 *
 * Such a function has the sizes of its operands as numbers and reads and writes elements of any type; it computes in
 * double (floating point), int64_t or uint64_t (integers), and rounds or wraps once per result. A value here is one
 * element, not a tensor.
 */
#ifndef NNCC_LOOPS_H
#define NNCC_LOOPS_H

#include <math.h>

#include "nncc.h"
#include "nncc_fp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element types of 16 bits ----------------------------------------------------------------------------------- */

/* IEEE binary16: exact to float, to nearest even back, with subnormals and infinities. */
float nncc_f16_to_f32(uint16_t h);
uint16_t nncc_f32_to_f16(float v);

/* bfloat16, the upper half of a float: exact to float, to nearest even back. */
float nncc_bf16_to_f32(uint16_t h);
uint16_t nncc_f32_to_bf16(float v);

/* ---- conversions ------------------------------------------------------------------------------------------------ */

/*
 * v in double. With vectors and double precision in hardware GCC may make the conversion conditional, and the GNU
 * assembler refuses "vcvtne.f64.f32": it reads the vector instruction vcvtn there. Behind a statement in assembly, even
 * an empty one, nothing is made conditional.
 */
static inline double nncc_el_widen_f32(float v)
{
    double d = (double)v;
#if defined(__GNUC__) && defined(__ARM_FEATURE_MVE) && defined(__ARM_FP) && (__ARM_FP & 8)
    __asm volatile("" : "+w"(d));
#endif
    return d;
}

/* Towards zero, clamped to the type's range; NaN becomes 0. */
int64_t nncc_f64_to_i64(double v);
uint64_t nncc_f64_to_u64(double v);

/* Nearest, ties to even, whatever the rounding mode is. */
double nncc_nearest_f64(double v);

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

/* Minimum and maximum; NaN if either is, and -0 is below +0. */
double nncc_min_f64(double a, double b);
double nncc_max_f64(double a, double b);

/* a / b towards zero; b is not 0, and the most negative number over -1 wraps. */
int64_t nncc_div_i64(int64_t a, int64_t b);

/* a - b * (a / b): sign of the divisor (floor_mod not 0) or of the dividend; b is not 0. */
int64_t nncc_mod_i64(int64_t a, int64_t b, int32_t floor_mod);

/* a to the power b modulo 2^64; a negative power truncates to 0 unless a is 1 or -1. */
int64_t nncc_pow_i64(int64_t a, int64_t b);

/* Logistic function, and ln(1 + exp(v)), without overflow. */
double nncc_sigmoid_f64(double v);
double nncc_softplus_f64(double v);

/* ---- sampling --------------------------------------------------------------------------------------------------- */

/* v mirrored at lo and hi until it lies between them; lo where they are one. */
double nncc_reflect_f64(double v, double lo, double hi);

/* Weight of a sample at distance v with the cubic's coefficient a. */
double nncc_cubic_f64(double v, double a);

#ifdef __cplusplus
}
#endif

#endif /* NNCC_LOOPS_H */
