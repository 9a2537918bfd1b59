/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_s8.h: int8 kernels for operators that CMSIS-NN lacks, and conversions between float and integer tensors.
 *
 * Unless a kernel says otherwise its result is, per element,
 *     clamp(round_half_away(f(dequantised inputs, in double) / out_scale) + out_zero)
 * and every element equals the Go reference in ir/qref bit for bit. Integer kernels reach that value through constants
 * that nncc has proven equal over all inputs; the others compute in double with + - * / only.
 * A result that is not a number gives the zero point, an infinite one saturates.
 */
#include "nncc.h"

/* ---- quantisation ---------------------------------------------------------------------------- */

/* Tensor [outer,axis,inner] with one scale and zero point per element of axis; axis = 1: per tensor. */
typedef struct
{
    int32_t outer, axis, inner;
} nncc_quantize_params;

/*
 * ONNX QuantizeLinear: y = saturate(round_half_even(x / scale) + zero), the division in float32.
 * x, y [outer,axis,inner], scale, zero [axis].
 */
/* KERNELS(quantize_f32) */

/* ONNX DequantizeLinear: y = (x - zero) * scale in float32. */
/* KERNELS(dequantize_f32) */

/* ---- tables ---------------------------------------------------------------------------------- */

/* Number of elements. */
typedef struct
{
    int32_t count;
} nncc_count_params;

/*
 * y[i] = table[x[i] as a byte]: any function of one 8-bit tensor, requantisation too. x, y are int8_t or uint8_t
 * [count], table has 256 entries in the order of the input's bit patterns (0..127, then for int8 -128..-1). In place.
 */
/* KERNELS(nncc_lut_s8) */

/* The same for rows of `count` elements, x_pitch and y_pitch bytes apart. */
typedef struct
{
    int32_t rows, count;
    int32_t x_pitch, y_pitch;
} nncc_table_rows_params;

/* KERNELS(nncc_lut_rows_s8) */

/* y = x ^ 0x80: int8 to uint8 and back with the zero point moved by 128, the real values unchanged. In place. */
/* KERNELS(nncc_convert_s8_u8) */

/*
 * One function of an int8 value in integers: clamp((q * mult + bias) >> shift), floor shift, shift 0..62. mult and bias
 * are proven by nncc to give the defined result for all 256 inputs (ir/qref BuildAffine).
 */
typedef struct
{
    int64_t bias;
    int32_t mult;
    int32_t shift;
} nncc_affine_s8;

/* Rows of channels with a clamp of the output. */
typedef struct
{
    int32_t rows, channels;
    int32_t act_min, act_max;
} nncc_rows_params;

/* x, y [rows,channels], affine [channels]: BatchNormalization left over, any linear function per channel. In place. */
/* KERNELS(nncc_scale_shift_s8) */

/* As nncc_rows_params, with the input's zero point. */
typedef struct
{
    int32_t rows, channels;
    int32_t in_zero;
    int32_t act_min, act_max;
} nncc_prelu_s8_params;

/*
 * PRelu with a constant slope per channel: q >= in_zero takes `positive` (one), others negative[c].
 * x, y [rows,channels], negative [channels]. In place.
 */
/* KERNELS(nncc_prelu_s8) */

/* Elements [outer,channels,inner]; with `two`, mult and bias are the line of all channels from zero on. */
typedef struct
{
    int32_t outer, channels, inner;
    int32_t shift;
    int32_t act_min, act_max;
    int32_t mult, bias;
    int32_t zero, two;
} nncc_channel_lines_s8_params;

/*
 * clamp((q * mult[channel] + bias[channel]) >> shift), floor shift, in 32 bits; PRelu has two lines. Proven by nncc for
 * all inputs (lower/kernel/pack Lines). mult, bias [channels]; x, y
 * [outer,channels,inner]. In place.
 */
/* KERNELS(nncc_channel_lines_s8) */

/* Elements [outer,channels,inner]. */
typedef struct
{
    int32_t outer, channels, inner;
    int32_t shift;
    int32_t act_min, act_max;
} nncc_channel_scales_s8_params;

/*
 * clamp((t + (t < 0 ? below : 0) + end) >> shift) of t = q * mult + bias, floor shift, in 32 bits: lines whose results
 * are rounded twice, ties away from zero. Proven by nncc for all inputs (lower/kernel/pack Scales). lines: mult, bias,
 * below and end of each channel; x, y [outer,channels,inner]. In place.
 */
/* KERNELS(nncc_channel_scales_s8) */

/* ---- two inputs with broadcast --------------------------------------------------------------- */

/* y = clamp((table_a[a] + table_b[b]) >> shift), floor shift. */
typedef struct
{
    nncc_bcast_params bcast;
    int32_t shift;
    int32_t act_min, act_max;
} nncc_sum_s8_params;

/*
 * Sub, comparisons and any other function that is a function of a sum: the tables [256], indexed by bit pattern
 * (0..127, -128..-1), are proven by nncc to give the defined result for all 65,536 pairs (ir/qref BuildSum).
 * In place where the operand is not broadcast.
 */
/* KERNELS(nncc_sum_s8) */

/* Division y = a/b. */
typedef struct
{
    nncc_bcast_params bcast;
    int32_t a_zero, out_zero;
    int32_t act_min, act_max;
} nncc_div_s8_params;

/*
 * reciprocal [256], indexed by the bit pattern of b, holds sign << 31 | mantissa << 6 | shift of
 * a_scale / (b_scale * out_scale * (b - b_zero)); proven by nncc for all pairs (ir/qref BuildDiv). x/0 saturates, 0/0
 * gives the zero point. In place where the operand is not broadcast.
 */
/* KERNELS(nncc_div_s8) */

/*
 * y = rows[row_of[b] * 256 + a], a and b as bit patterns: any function of two 8-bit tensors. Equal rows are stored
 * once; a constant b needs rows for its own values only. a, b, y: int8_t or uint8_t. In place where not broadcast.
 */
/* KERNELS(nncc_lut2_s8) */

/* Functions of nncc_binary_s8. */
#define NNCC_BINARY_ADD 0
#define NNCC_BINARY_SUB 1
#define NNCC_BINARY_MUL 2
#define NNCC_BINARY_DIV 3
#define NNCC_BINARY_MIN 4
#define NNCC_BINARY_MAX 5
#define NNCC_BINARY_PRELU 6 /* b: slope */

/* Everything that quantised broadcast arithmetic needs. */
typedef struct
{
    double a_scale, b_scale, out_scale;
    int32_t a_zero, b_zero, out_zero;
    int32_t act_min, act_max;
    int32_t op;
    nncc_bcast_params bcast;
} nncc_binary_s8_params;

/* The definition itself, in double: for what the kernels above cannot express. In place where not broadcast. */
/* KERNELS(nncc_binary_s8) */

/*
 * Functions of two int8 rows, y[i] = f(a[i], b[i]) for i < n; form points to what each of them names. In place of
 * either.
 */
typedef void nncc_pair_fn(const void *form, const int8_t *a, const int8_t *b, int8_t *y, int32_t n);

/* clamp((a*u + b*v + c) >> shift), floor shift: Add, Sub, comparisons (lower/kernel/pack Linear). */
typedef struct
{
    int32_t a, b, c, shift;
    int32_t act_min, act_max;
} nncc_pair_linear_s8_params;

/*
 * Mul: nncc_rq(u' * v', mult, -shift) + out_zero with the offset values u', v'; shift 1 to 22. narrow: the upper half
 * of the first product may saturate at 16 bits without changing a result.
 */
typedef struct
{
    int32_t a_offset, b_offset;
    int32_t mult, shift;
    int32_t out_zero;
    int32_t act_min, act_max;
    int32_t narrow;
} nncc_pair_mul_s8_params;

/* clamp(out_zero + ((u - a_zero) * factor[v as a byte] + 2^22) >> 23): Div (lower/kernel/pack Ratio). */
typedef struct
{
    int32_t a_zero, out_zero;
    int32_t act_min, act_max;
    int32_t factor[256];
} nncc_pair_ratio_s8_params;

/* clamp((a[u as a byte] + b[v as a byte]) >> shift), floor shift: what is not linear (ir/qref BuildSum). */
typedef struct
{
    int32_t shift;
    int32_t act_min, act_max;
    int32_t a[256], b[256];
} nncc_pair_tables_s8_params;

/*
 * Add with TensorFlow Lite's three roundings, for what is not linear: a_mult / 2^a_shift of u * a_unit + a_offset, the
 * same of v, the sum of both by mult / 2^shift, plus out_zero, clamped. Shifts are 1 to 31 to the right, and what is
 * multiplied is below 2^30.
 */
typedef struct
{
    int32_t a_unit, a_offset; /* the offset times the unit */
    int32_t a_mult, a_shift;
    int32_t b_unit, b_offset;
    int32_t b_mult, b_shift;
    int32_t mult, shift;
    int32_t out_zero;
    int32_t act_min, act_max;
} nncc_pair_add_s8_params;

/* The larger or the smaller of a[u as a byte] and b[v as a byte]: values of scales that differ. */
typedef struct
{
    int8_t a[256], b[256];
} nncc_pair_extremes_s8_params;

/* nncc_pair_max_s8 and nncc_pair_min_s8 do not read form. */
/* KERNELS(pair_s8) */

/* y [dims] = fn(a, b), with the constants form of fn, over a broadcast. In place where the operand is not broadcast. */
/* KERNELS(nncc_pairs_s8) */

/* Functions of a row and one value, y[i] = f(a[i], b[0]) for i < n; form is not read. In place of a. */
/* KERNELS(row_s8) */

/*
 * y [dims] = fn(a, b), fn one of them with its form, where a has all elements of the innermost dimension side by side
 * and b one for all of them; two dimensions at least. In place where a is not broadcast.
 */
/* KERNELS(nncc_rows_s8) */

/* ---- convolution with weight zero points ----------------------------------------------------- */

/*
 * As CMSIS-NN's convolution: acc = bias + sum (x + in_offset) * (w - w_zero[c]) in int32, then TFLite's two-step
 * requantisation by mult[c] * 2^(shift[c]-31), + out_offset, clamp. in_offset is minus the input's zero point.
 */
typedef struct
{
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
    int32_t groups;
    int32_t in_offset, out_offset;
    int32_t act_min, act_max;
} nncc_conv2d_wzp_s8_params;

/*
 * x [batch,in_h,in_w,in_c], w [out_c,kernel_h,kernel_w,in_c/groups], b [out_c] or NULL; w_zero, mult, shift [out_c];
 * y [batch,out_h,out_w,out_c]. Padding counts as the input's zero point.
 */
/* KERNELS(nncc_conv2d_wzp_s8) */

/* Depthwise: in_c*mult_c output channels, w [1,kernel_h,kernel_w,in_c*mult_c]. */
typedef struct
{
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, mult_c;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
    int32_t in_offset, out_offset;
    int32_t act_min, act_max;
} nncc_depthwise_conv2d_wzp_s8_params;

/* As above; b, w_zero, mult, shift [in_c*mult_c]. */
/* KERNELS(nncc_depthwise_conv2d_wzp_s8) */

/* Fully connected. */
typedef struct
{
    int32_t batch, in_n, out_n;
    int32_t in_offset, out_offset;
    int32_t act_min, act_max;
} nncc_fully_connected_wzp_s8_params;

/* x [batch,in_n], w [out_n,in_n], b [out_n] or NULL; w_zero, mult, shift [out_n]; y [batch,out_n]. */
/* KERNELS(nncc_fully_connected_wzp_s8) */

/* ---- pooling --------------------------------------------------------------------------------- */

/*
 * Pooling that CMSIS-NN lacks: dilation, padding that counts, other scales. With acc = sum of (x - center) over the
 * taps inside the input and n = the taps that count:
 *  - rescale 0: clamp(round_half_away(acc / n) + out_zero). center = out_zero = 0 is TFLite's average of equally
 *    quantised tensors; center = in_zero is the contract's definition when the scales are equal;
 *  - rescale 1: clamp(round_half_away(acc * in_scale / n / out_scale) + out_zero) in double.
 * Where mult is not 0, windows in which every tap counts are clamp((acc * mult + bias) >> shift), proven to be the same
 * (lower/kernel/pack Means).
 */
typedef struct
{
    double in_scale, out_scale;
    int64_t bias;
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t count_include_pad;
    int32_t center, out_zero, rescale;
    int32_t act_min, act_max;
    int32_t mult, shift;
} nncc_pool2d_s8_params;

/* x [batch,in_h,in_w,in_c], y [batch,out_h,out_w,in_c]. A window without taps gives 0 + out_zero. */
/* The second one needs mult, and that every tap of every window counts. */
/* KERNELS(avg_pool2d_s8) */

/* As above; one scale and zero point for both, geometry and clamp only. A window without taps gives act_min. */
/* KERNELS(nncc_max_pool2d_s8) */

/* ---- resize ---------------------------------------------------------------------------------- */

/*
 * Separable resampling as nncc_resize_f32, with integer weights: acc = sum of weights_h * weights_w * (x - in_zero),
 * den = product of the two axes' weight denominators. Result: clamp(round_half_away(acc / den) + out_zero), or with
 * rescale 1 clamp(round_half_away(acc * in_scale / den / out_scale) + out_zero) in double. Weights are exact wherever
 * the coordinates are fractions with small denominators (ir/qref NewResizeAxis), so the result is the exact
 * interpolation, correctly rounded. `outside` is the int8 value of pixels with a negative index.
 */
typedef struct
{
    double in_scale, out_scale;
    int32_t batch, in_h, in_w, channels;
    int32_t out_h, out_w;
    int32_t taps_h, taps_w;
    int32_t den;
    int32_t in_zero, out_zero, rescale;
    int32_t outside;
} nncc_resize_s8_params;

/* x [batch,in_h,in_w,channels], y [batch,out_h,out_w,channels]; tables index_h, weight_h, index_w and
 * weight_w as for nncc_resize_f32. */
/* KERNELS(nncc_resize_s8) */

/*
 * The same results for any number of taps: tables have an even number of them an output (a weight may be 0), index_w
 * counts values, and weight_h is multiplied, so that |acc| stays below 2^30. With v = (add + floor(acc * mult / 2^32))
 * >> shift, limited to 0 to 255, the result is v - 128, and one more from acc = least[v] on; least has 256 values.
 * row: in_w * channels values. Instructions an output of a cubic resize by 2 in both directions, 16 channels: Helium
 * 18, DSP 55.
 */
typedef struct
{
    int32_t batch, in_h, in_w, channels;
    int32_t out_h, out_w;
    int32_t taps_h, taps_w;
    int32_t in_zero;
    int32_t mult, add, shift;
    int32_t outside;
} nncc_resize_taps_s8_params;

/* KERNELS(nncc_resize_taps_s8) */

/*
 * The same results for two taps an axis and constants that nncc has proven (ir/qref BuildResizeLinear): every output
 * row blends two input rows, then pairs of pixels of the blend. The tables rows [out_h,4] and cols [out_w,4] have
 * {first, second index, first, second weight} an output, a negative first index for what lies outside; row weights are
 * multiplied by `scale`.
 *
 * nncc_resize_linear_s8: weights are not negative and their sum times scale is 256: acc has 8 bits behind the point and
 * fits 16 bits. Ties go up from out_zero on and down below it. bias, mult, add and shift are not looked at.
 * nncc_resize_linear_wide_s8: clamp((add + floor(acc * mult / 2^32)) >> shift), where bias takes the input's zero point
 * off blended values.
 *
 * scratch, 4-byte aligned: in_w * channels values of 32 bits; nncc_resize_linear_s8: of 16 bits, of 32 for channels
 * behind the last four. Instructions an output by 2 in both directions, 16 channels: Helium 3, DSP 10; wide 5 and 14.
 *
 * nncc_resize_linear_few_s8 and nncc_resize_linear_few_wide_s8 give the same for few channels and no columns outside,
 * where cols has, for every element of a row of results, the index of the first one of the two that it is between in a
 * row of the input (the second one is the next pixel's), and then the first weight for every element; the second weight
 * is what is left of `den`. scratch: in_w * channels values of 16 bits, wide of 32. One channel by 2 in both
 * directions: Helium 3, DSP 20; wide, three channels by 3: 4 and 17.
 */
typedef struct
{
    int32_t batch, in_h, in_w, channels;
    int32_t out_h, out_w;
    int32_t scale;
    int32_t den; /* sum of the weights of a column */
    int32_t bias;
    int32_t mult, add, shift;
    int32_t out_zero;
    int32_t outside;
} nncc_resize_linear_s8_params;

/* KERNELS(resize_linear_s8) */

/* ---- one axis of [outer, axis, inner] -------------------------------------------------------- */

/*
 * Sum (divisor 1) and mean (divisor = axis length, or more elements where several axes were summed before):
 * clamp(round_half_away(acc / divisor) + out_zero) with acc = sum of (x - in_zero), or with rescale 1
 * clamp(round_half_away(acc * in_scale / divisor / out_scale) + out_zero) in double. Where mult is not 0, results
 * are clamp((acc * mult + bias) >> shift): of int8 proven to be the same, of int16 the same where what is shifted out
 * is at least doubt away from 0 and 1 << shift. Where up is not 0 they are of words, clamp((((acc << up) * mult >> 32)
 * + bias) >> shift). Elsewhere they are computed in double.
 */
typedef struct
{
    double in_scale, out_scale;
    int64_t bias;
    int32_t outer, axis, inner;
    int32_t divisor;
    int32_t in_zero, out_zero, rescale;
    int32_t act_min, act_max;
    int32_t mult, shift;
    int32_t doubt; /* of int16 */
    int32_t up;    /* of int8 */
} nncc_reduce_s8_params;

/* x [outer,axis,inner], y [outer,inner]. */
/* KERNELS(nncc_reduce_sum_s8) */

/* Three dimensions, of which the middle one is reduced. */
typedef struct
{
    int32_t outer, axis, inner;
} nncc_axis_s8_params;

/* x [outer,axis,inner], y [outer,inner], one scale and zero point (nncc_lut_s8 rescales). */
/* KERNELS(reduce_s8) */

/* select_last = 0 gives the first of equal elements, 1 the last. */
typedef struct
{
    int32_t outer, axis, inner;
    int32_t select_last;
} nncc_arg_s8_params;

/* x [outer,axis,inner], y [outer,inner] as ONNX's int64. */
/* KERNELS(arg_s8) */

/* Softmax along any axis with the arithmetic of arm_softmax_s8 (output scale 1/256, zero point -128). */
typedef struct
{
    int32_t outer, axis, inner;
    int32_t mult, shift, diff_min;
} nncc_softmax_s8_params;

/* x, y [outer,axis,inner]. In place. */
/* KERNELS(nncc_softmax_s8) */

/*
 * Softmax of pairs: x, y [count,2]. A value less the one beside it is -255 to 255, for which table has a result each.
 * In place.
 */
/* KERNELS(nncc_softmax_pairs_s8) */

/* ---- normalisation --------------------------------------------------------------------------- */

/*
 * Statistics of n int8 values in fixed point. With exact integers S = sum of x, Q = sum of x*x and V = n*Q - S*S, which
 * is n*n times the variance in squares of the input's steps:
 *     D = V * 2^up + eps * 2^eps_shift        (V / 2^-up, floor, where up is negative)
 *     m, d: D * 2^d is m * 2^32 and a rest, d even, m in [2^30, 2^32)
 *     r = 2^46 / sqrt(m) as two steps of Newton's in 32 bits give it (nncc_norm_s8.c), 1.2e-6 off at most
 *     scale = (n * r + 2^(e-1)) >> e,  offset = (S * r + 2^(e-1)) >> e,  e = 62 - root - d/2, limited to [1, 62]
 * so that x * scale - offset is the normalised value times 2^f. Where V is 0 both are 0.
 */
typedef struct
{
    int32_t eps, eps_shift; /* 0 to 31 */
    int32_t up;             /* -62 to 62 */
    int32_t root;           /* f + up / 2 */
    int32_t shift;          /* fraction bits of a result, 1 to 24 */
} nncc_norm_s8_params;

/* Rows of len elements (at most 2^22). */
typedef struct
{
    nncc_norm_s8_params norm;
    int32_t rows, len;
    int32_t center; /* 1: LayerNormalization; 0: RMSNormalization */
    int32_t zero;   /* zero point of x, read where center is 0: Q is then of x - zero, S is n * zero, V is n * Q */
} nncc_layer_norm_s8_params;

/*
 * LayerNormalization and RMSNormalization, modulo 2^32, with the scale and offset of the row:
 *     y = clamp((((x * scale - offset) * a[i] >> 16) + b[i]) >> shift), all shifts floor.
 * terms has six words for four elements of a row: their a, 16 bits each, then their b; the last group is filled up.
 * x, y [rows,len]. In place.
 */
/* KERNELS(nncc_layer_norm_s8) */

/* Statistics over spatial positions and the channels of a group; groups == channels is InstanceNormalization. */
typedef struct
{
    nncc_norm_s8_params norm;
    int32_t batch, spatial, channels, groups;
} nncc_group_norm_s8_params;

/*
 * Modulo 2^32, with the scale and offset of the group and {a, b}, the terms of the channel, a of 16 bits:
 *     y = clamp((x * A + B) >> shift),  A = (scale * a + 2^15) >> 16,  B = b - ((offset * a + 2^15) >> 16)
 * x, y [batch,spatial,channels]; terms [channels,2]. In place.
 */
/* KERNELS(nncc_group_norm_s8) */

/* ---- recurrent ------------------------------------------------------------------------------- */

/*
 * A step of SVDF: units*rank filters, of which each keeps the last `memory` products with the input. Multipliers as for
 * nncc_rq: of a product to the state's scale, of the sum of products with the state to the result's.
 */
typedef struct
{
    int32_t batch, inputs, units, rank, memory;
    int32_t feature_mult, feature_shift;
    int32_t output_mult, output_shift, output_zero;
    int32_t state_zero;
} nncc_svdf_params;

/*
 * x [batch,inputs]; features [filters,inputs] and feature_bias [filters], the zero point of x folded in; time
 * [filters,memory]; bias [units], the zero point of the state folded in; state, next [batch,filters,memory]; y
 * [batch,units]. next may be state.
 */
/* KERNELS(svdf) */
