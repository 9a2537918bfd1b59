/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_s16.h: int16 kernels for operators that CMSIS-NN lacks, and the changes between int8 and int16.
 *
 * Quantised int16 tensors have zero point 0. Unless a kernel says otherwise its result is, per element,
 *     clamp(round_half_away(f(dequantised inputs, in double) / out_scale) + out_zero)
 * (x, or a and b, are inputs, y is the output) and every element equals the Go reference in ir/qref bit for bit.
 */
#include "nncc_s8.h"

/*
 * A function that is a straight line on either side of an input value:
 *     y = clamp((q * mult + bias) >> shift), floor shift, with the constants pos_* for q >= split and neg_* below.
 * They are proven by nncc to give the defined result for all inputs (ir/qref BuildLines).
 */
typedef struct
{
    int64_t pos_mult, pos_bias, neg_mult, neg_bias;
    int32_t count, split;
    int32_t pos_shift, neg_shift;
    int32_t act_min, act_max;
} nncc_piecewise_linear_params;

/* x, y [count]: Relu, LeakyRelu, Clip, Abs, Neg, HardSigmoid and changes of scale. The first one in place. */
/* KERNELS(piecewise_linear) */

/*
 * Any function of one int16 value by straight lines between points [513], 128 inputs apart, as in TensorFlow
 * Lite: with i = 256 + (q >> 7), y = points[i] + (((points[i + 1] - points[i]) * (q & 127) + 64) >> 7). This is the
 * definition of such functions, not an approximation of another one. x, y [count]. In place.
 */
/* KERNELS(nncc_interpolated_lut_s16) */

/* As nncc_binary_s8: y [dims] = f(a, b) of int16 elements with the zero point 0. */
/* KERNELS(nncc_binary_s16) */

/* A function of two rows, y[i] = f(a[i], b[i]) for i < n; form has its constants. y may be a or b. */
typedef void nncc_pair16_fn(const void *form, const int16_t *a, const int16_t *b, int16_t *y, int32_t n);

/*
 * Add and Sub: clamp(nncc_rq(u * unit + sign * nncc_rq(v << 15, mult, -shift), out_mult, -out_shift)). unit is 2^14 or
 * -2^14, sign 1 or -1; shift 1 to 31, or 0, and mult 2^30, which leaves v * 2^14; out_shift 1 to 31.
 */
typedef struct
{
    int32_t unit, sign;
    int32_t mult, shift;
    int32_t out_mult, out_shift;
    int32_t act_min, act_max;
} nncc_pair_sum_s16_params;

/* Mul: clamp(nncc_rq(u * v, mult, -shift)); shift 1 to 31; proven for two values of -32768. */
typedef struct
{
    int32_t mult, shift;
    int32_t act_min, act_max;
} nncc_pair_mul_s16_params;

/* The last ones are the larger and the smaller value: form is not read. */
/* KERNELS(pair_s16) */

/* y [dims] = fn(a, b), a function of two rows with its constants form, for tensors that are broadcast. */
/* KERNELS(nncc_pairs_s16) */

/* y = x, not below act_min and not above act_max. x, y [count]. In place. */
typedef struct
{
    int32_t count;
    int32_t act_min, act_max;
} nncc_clamp_s16_params;

/* KERNELS(nncc_clamp_s16) */

/*
 * A function of two lines, as nncc_piecewise_linear_s16, in 32 bits: with the multiplier m * 2^31 + l and the constant
 * c of a side, y = clamp((q * m + (2 * q * l >> 32) + c) >> shift), floor shifts. x, y [count]. In place.
 */
typedef struct
{
    int32_t count, split, shift;
    int32_t pos_mult, pos_low, pos_bias;
    int32_t neg_mult, neg_low, neg_bias;
    int32_t act_min, act_max;
} nncc_lines_s16_params;

/* KERNELS(nncc_lines_s16) */

/* Pooling of NHWC maps; the part of a window that lies inside counts. y = clamp(...) in the quantisation of x. */
typedef struct
{
    int32_t batch, in_h, in_w, channels;
    int32_t out_h, out_w, kernel_h, kernel_w;
    int32_t stride_h, stride_w, pad_h, pad_w;
    int32_t act_min, act_max;
} nncc_pool_s16_params;

/* The mean is rounded to the nearest, ties away from zero; windows of at most 32767 elements. */
/* KERNELS(pool_s16) */

/* As nncc_reduce_sum_s8 with rescale 1; axis at most 8192. x [outer,axis,inner], y [outer,inner]. */
/* KERNELS(nncc_reduce_sum_s16) */

/* As nncc_reduce_max_s8 and nncc_reduce_min_s8. x [outer,axis,inner], y [outer,inner]. */
/* KERNELS(reduce_s16) */

/*
 * Convolution with groups, with the results of CMSIS-NN's int16 kernels: exact 64-bit sums, a Q15 multiplier made of
 * mult[c] and shift[c], one rounding. Offsets are not used. x [batch,in_h,in_w,in_c],
 * w [out_c,kernel_h,kernel_w,in_c/groups], b [out_c] or NULL; mult, shift [out_c]; y [batch,out_h,out_w,out_c].
 */
/* KERNELS(nncc_conv2d_s16) */

/*
 * Real Fourier transforms of rows of size numbers, padded with zeros to length, a power of two, in fixed point as
 * TensorFlow Lite Micro's audio front end computes them: length/2+1 complex numbers, pairs of parts; the inverse the
 * other way round. twiddles [length/2], super [length/4] pairs of parts; work [2*length].
 */
typedef struct
{
    int32_t rows, size, length, inverse;
} nncc_signal_fft_params;

/* KERNELS(signal_fft) */
