/*
 * nncc_s8.h: int8 kernels for operators that CMSIS-NN lacks, and the borders between float and integer tensors.
 *
 * Unless a kernel says otherwise its result is, per element,
 *     clamp(round_half_away(f(dequantised inputs, in double) / out_scale) + out_zero)
 * and every element equals the Go reference in ir/qref bit for bit. Integer kernels reach that value through constants
 * that nncc has proven equal over all inputs; the others compute in double with + - * / only.
 * A result that is not a number gives the zero point, an infinite one saturates.
 */
#ifndef NNCC_S8_H
#define NNCC_S8_H

#include "nncc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- borders --------------------------------------------------------------------------------------------------- */

/* Tensor [outer,axis,inner] with one scale and zero point per element of axis; axis = 1: per tensor. */
typedef struct {
    int32_t outer, axis, inner;
} nncc_quantize_params;

/*
 * ONNX QuantizeLinear: y = saturate(round_half_even(x / scale) + zero), the division in float32.
 * x, y [outer,axis,inner], scale, zero [axis].
 */
void nncc_quantize_f32_s8(const nncc_quantize_params *p, const float *x, const float *scale, const int32_t *zero,
                          int8_t *y);
void nncc_quantize_f32_u8(const nncc_quantize_params *p, const float *x, const float *scale, const int32_t *zero,
                          uint8_t *y);
void nncc_quantize_f32_s16(const nncc_quantize_params *p, const float *x, const float *scale, const int32_t *zero,
                           int16_t *y);

/* ONNX DequantizeLinear: y = (x - zero) * scale in float32. */
void nncc_dequantize_s8_f32(const nncc_quantize_params *p, const int8_t *x, const float *scale, const int32_t *zero,
                            float *y);
void nncc_dequantize_u8_f32(const nncc_quantize_params *p, const uint8_t *x, const float *scale, const int32_t *zero,
                            float *y);
void nncc_dequantize_s16_f32(const nncc_quantize_params *p, const int16_t *x, const float *scale, const int32_t *zero,
                             float *y);
void nncc_dequantize_s32_f32(const nncc_quantize_params *p, const int32_t *x, const float *scale, const int32_t *zero,
                             float *y);

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* Number of elements. */
typedef struct {
    int32_t count;
} nncc_count_params;

/*
 * y[i] = table[x[i] as a byte]: any function of one 8-bit tensor, requantisation too. x, y are int8_t or uint8_t
 * [count], table has 256 entries in the order of the input's bit patterns (0..127, then for int8 -128..-1). In place.
 */
void nncc_lut_s8(const nncc_count_params *p, const void *x, const void *table, void *y);

/* The same for rows of `count` elements, x_pitch and y_pitch bytes apart. */
typedef struct {
    int32_t rows, count;
    int32_t x_pitch, y_pitch;
} nncc_table_rows_params;

void nncc_lut_rows_s8(const nncc_table_rows_params *p, const void *x, const void *table, void *y);

/* y = x ^ 0x80: int8 to uint8 and back with the zero point moved by 128, the real values unchanged. In place. */
void nncc_convert_s8_u8(const nncc_count_params *p, const void *x, void *y);

/*
 * One function of an int8 value in integers: clamp((q * mult + bias) >> shift), floor shift, shift 0..62. mult and bias
 * are proven by nncc to give the defined result for all 256 inputs (ir/qref BuildAffine).
 */
typedef struct {
    int64_t bias;
    int32_t mult;
    int32_t shift;
} nncc_affine_s8;

/* Rows of channels with a clamp of the output. */
typedef struct {
    int32_t rows, channels;
    int32_t act_min, act_max;
} nncc_rows_params;

/* x, y [rows,channels], affine [channels]: BatchNormalization left over, any linear function per channel. In place. */
void nncc_scale_shift_s8(const nncc_rows_params *p, const int8_t *x, const nncc_affine_s8 *affine, int8_t *y);

/* As nncc_rows_params, with the input's zero point. */
typedef struct {
    int32_t rows, channels;
    int32_t in_zero;
    int32_t act_min, act_max;
} nncc_prelu_s8_params;

/*
 * PRelu with a constant slope per channel: q >= in_zero takes `positive` (one), others negative[c].
 * x, y [rows,channels], negative [channels]. In place.
 */
void nncc_prelu_s8(const nncc_prelu_s8_params *p, const int8_t *x, const nncc_affine_s8 *positive,
                   const nncc_affine_s8 *negative, int8_t *y);

/* ---- two inputs with broadcast ----------------------------------------------------------------------------------- */

/* y = clamp((table_a[a] + table_b[b]) >> shift), floor shift. */
typedef struct {
    nncc_bcast_params bcast;
    int32_t shift;
    int32_t act_min, act_max;
} nncc_sum_s8_params;

/*
 * Sub, comparisons and any other function that is a function of a sum: the tables [256], indexed by bit pattern
 * (0..127, -128..-1), are proven by nncc to give the defined result for all 65,536 pairs (ir/qref BuildSum).
 * In place where the operand is not broadcast.
 */
void nncc_sum_s8(const nncc_sum_s8_params *p, const int8_t *a, const int8_t *b, const int32_t *table_a,
                 const int32_t *table_b, int8_t *y);

/* Division a/b. */
typedef struct {
    nncc_bcast_params bcast;
    int32_t a_zero, out_zero;
    int32_t act_min, act_max;
} nncc_div_s8_params;

/*
 * reciprocal [256], indexed by the bit pattern of b, holds sign << 31 | mantissa << 6 | shift of
 * a_scale / (b_scale * out_scale * (b - b_zero)); proven by nncc for all pairs (ir/qref BuildDiv). x/0 saturates, 0/0
 * gives the zero point. In place where the operand is not broadcast.
 */
void nncc_div_s8(const nncc_div_s8_params *p, const int8_t *a, const int8_t *b, const uint32_t *reciprocal, int8_t *y);

/*
 * y = rows[row_of[b] * 256 + a], a and b as bit patterns: any function of two 8-bit tensors. Equal rows are stored once;
 * a constant b needs rows for its own values only. a, b, y: int8_t or uint8_t. In place where not broadcast.
 */
void nncc_lut2_s8(const nncc_bcast_params *p, const uint8_t *a, const uint8_t *b, const uint8_t *row_of,
                 const uint8_t *rows, uint8_t *y);

/* Functions of nncc_binary_s8. */
#define NNCC_BINARY_ADD 0
#define NNCC_BINARY_SUB 1
#define NNCC_BINARY_MUL 2
#define NNCC_BINARY_DIV 3
#define NNCC_BINARY_MIN 4
#define NNCC_BINARY_MAX 5
#define NNCC_BINARY_PRELU 6 /* b: slope */

/* Everything that quantised broadcast arithmetic needs. */
typedef struct {
    double a_scale, b_scale, out_scale;
    int32_t a_zero, b_zero, out_zero;
    int32_t act_min, act_max;
    int32_t op;
    nncc_bcast_params bcast;
} nncc_binary_s8_params;

/* The definition itself, in double: for what the kernels above cannot express. In place where not broadcast. */
void nncc_binary_s8(const nncc_binary_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y);

/* ---- convolution with weight zero points ------------------------------------------------------------------------- */

/*
 * As CMSIS-NN's convolution: acc = bias + sum (x + in_offset) * (w - w_zero[c]) in int32, then TFLite's two-step
 * requantisation by mult[c] * 2^(shift[c]-31), + out_offset, clamp. in_offset is minus the input's zero point.
 */
typedef struct {
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
void nncc_conv2d_wzp_s8(const nncc_conv2d_wzp_s8_params *p, const int8_t *x, const int8_t *w, const int32_t *b,
                        const int32_t *w_zero, const int32_t *mult, const int32_t *shift, int8_t *y);

/* Depthwise: in_c*mult_c output channels, w [1,kernel_h,kernel_w,in_c*mult_c]. */
typedef struct {
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
void nncc_depthwise_conv2d_wzp_s8(const nncc_depthwise_conv2d_wzp_s8_params *p, const int8_t *x, const int8_t *w,
                                  const int32_t *b, const int32_t *w_zero, const int32_t *mult, const int32_t *shift,
                                  int8_t *y);

/* Fully connected. */
typedef struct {
    int32_t batch, in_n, out_n;
    int32_t in_offset, out_offset;
    int32_t act_min, act_max;
} nncc_fully_connected_wzp_s8_params;

/* x [batch,in_n], w [out_n,in_n], b [out_n] or NULL; w_zero, mult, shift [out_n]; y [batch,out_n]. */
void nncc_fully_connected_wzp_s8(const nncc_fully_connected_wzp_s8_params *p, const int8_t *x, const int8_t *w,
                                 const int32_t *b, const int32_t *w_zero, const int32_t *mult, const int32_t *shift,
                                 int8_t *y);

/* ---- pooling --------------------------------------------------------------------------------------------------- */

/*
 * Pooling that CMSIS-NN lacks: dilation, padding that counts, other scales. With acc = sum of (x - center) over the taps
 * inside the input and n = the taps that count:
 *  - rescale 0: clamp(round_half_away(acc / n) + out_zero). center = out_zero = 0 is TFLite's average of equally
 *    quantised tensors; center = in_zero is the contract's definition when the scales are equal;
 *  - rescale 1: clamp(round_half_away(acc * in_scale / n / out_scale) + out_zero) in double.
 */
typedef struct {
    double in_scale, out_scale;
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t count_include_pad;
    int32_t center, out_zero, rescale;
    int32_t act_min, act_max;
} nncc_pool2d_s8_params;

/* x [batch,in_h,in_w,in_c], y [batch,out_h,out_w,in_c]. A window without taps gives 0 + out_zero. */
void nncc_avg_pool2d_s8(const nncc_pool2d_s8_params *p, const int8_t *x, int8_t *y);

/* As above; one scale and zero point for both, geometry and clamp only. A window without taps gives act_min. */
void nncc_max_pool2d_s8(const nncc_pool2d_s8_params *p, const int8_t *x, int8_t *y);

/* ---- resize ---------------------------------------------------------------------------------------------------- */

/*
 * Separable resampling as nncc_resize_f32, with integer weights: acc = sum of weights_h * weights_w * (x - in_zero),
 * den = product of the two axes' weight denominators. Result: clamp(round_half_away(acc / den) + out_zero), or with
 * rescale 1 clamp(round_half_away(acc * in_scale / den / out_scale) + out_zero) in double. Weights are exact wherever
 * the coordinates are fractions with small denominators (ir/qref NewResizeAxis), so the result is the exact
 * interpolation, correctly rounded. `outside` is the int8 value of pixels with a negative index.
 */
typedef struct {
    double in_scale, out_scale;
    int32_t batch, in_h, in_w, channels;
    int32_t out_h, out_w;
    int32_t taps_h, taps_w;
    int32_t den;
    int32_t in_zero, out_zero, rescale;
    int32_t outside;
} nncc_resize_s8_params;

/* x [batch,in_h,in_w,channels], y [batch,out_h,out_w,channels]; tables as for nncc_resize_f32. */
void nncc_resize_s8(const nncc_resize_s8_params *p, const int8_t *x, const int32_t *index_h, const int16_t *weight_h,
                    const int32_t *index_w, const int16_t *weight_w, int8_t *y);

/* ---- one axis of [outer, axis, inner] ----------------------------------------------------------------------------- */

/*
 * Sum (divisor 1) and mean (divisor = axis length, or more elements where several axes were summed before):
 * clamp(round_half_away(acc / divisor) + out_zero) with acc = sum of (x - in_zero), or with rescale 1
 * clamp(round_half_away(acc * in_scale / divisor / out_scale) + out_zero) in double.
 */
typedef struct {
    double in_scale, out_scale;
    int32_t outer, axis, inner;
    int32_t divisor;
    int32_t in_zero, out_zero, rescale;
    int32_t act_min, act_max;
} nncc_reduce_s8_params;

/* x [outer,axis,inner], y [outer,inner]. */
void nncc_reduce_sum_s8(const nncc_reduce_s8_params *p, const int8_t *x, int8_t *y);

/* Three dimensions, of which the middle one is reduced. */
typedef struct {
    int32_t outer, axis, inner;
} nncc_axis_s8_params;

/* x [outer,axis,inner], y [outer,inner], one scale and zero point (nncc_lut_s8 rescales). */
void nncc_reduce_max_s8(const nncc_axis_s8_params *p, const int8_t *x, int8_t *y);
void nncc_reduce_min_s8(const nncc_axis_s8_params *p, const int8_t *x, int8_t *y);

/* select_last = 0 gives the first of equal elements, 1 the last. */
typedef struct {
    int32_t outer, axis, inner;
    int32_t select_last;
} nncc_arg_s8_params;

/* x [outer,axis,inner], y [outer,inner] as ONNX's int64. */
void nncc_argmax_s8(const nncc_arg_s8_params *p, const int8_t *x, int64_t *y);
void nncc_argmin_s8(const nncc_arg_s8_params *p, const int8_t *x, int64_t *y);

/* Softmax along any axis with the arithmetic of arm_softmax_s8 (output scale 1/256, zero point -128). */
typedef struct {
    int32_t outer, axis, inner;
    int32_t mult, shift, diff_min;
} nncc_softmax_s8_params;

/* x, y [outer,axis,inner]. In place. */
void nncc_softmax_s8(const nncc_softmax_s8_params *p, const int8_t *x, int8_t *y);

/* ---- normalisation --------------------------------------------------------------------------------------------- */

/* Rows of len elements (at most 2^22). */
typedef struct {
    double in_scale, out_scale, epsilon;
    int32_t rows, len;
    int32_t in_zero, out_zero;
    int32_t act_min, act_max;
} nncc_layer_norm_s8_params;

/*
 * LayerNormalization. With d = x - in_zero, n = len and exact integer sums S, SS of d and d*d, in double and this order:
 *     var = (n*SS - S*S) / (n*n) * in_scale * in_scale;   k = in_scale / (sqrt(var + epsilon) * n)
 *     y = clamp(round_half_away(((n*d - S) * k * scale[i] + bias[i]) / out_scale) + out_zero)
 * x, y [rows,len]; scale [len], bias [len] or NULL. In place.
 */
void nncc_layer_norm_s8(const nncc_layer_norm_s8_params *p, const int8_t *x, const double *scale, const double *bias,
                        int8_t *y);

/* Statistics over spatial positions and the channels of a group; groups == channels is InstanceNormalization. */
typedef struct {
    double in_scale, out_scale, epsilon;
    int32_t batch, spatial, channels, groups;
    int32_t in_zero, out_zero;
    int32_t act_min, act_max;
} nncc_group_norm_s8_params;

/* x, y [batch,spatial,channels]; scale, bias [channels]. Arithmetic as nncc_layer_norm_s8. In place. */
void nncc_group_norm_s8(const nncc_group_norm_s8_params *p, const int8_t *x, const double *scale, const double *bias,
                        int8_t *y);

#ifdef __cplusplus
}
#endif

#endif /* NNCC_S8_H */
