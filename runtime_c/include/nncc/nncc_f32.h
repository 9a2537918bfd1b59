/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32.h: float32 kernels.
 *
 * Results are deterministic: every sum starts at +0 and adds its terms one by one in the order stated, products are
 * rounded before they are added (no fused multiply-add), unless said otherwise. Layouts are those of nncc.h. NULL is
 * allowed only where said. What is computed is the ONNX operator, bit for bit as ir/qref has it. x, or a and b, are
 * inputs, y is the output.
 */
#include <math.h>

#include "nncc.h"

/* Bound of a clamp that does not limit. */
#define NNCC_F32_INF ((float)INFINITY)

/* ---- convolution ----------------------------------------------------------------------------- */

/* 2-D convolution; a 1-D one has height 1. act_min/act_max: fused clamp, -/+NNCC_F32_INF for none. */
typedef struct
{
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left; /* the other two follow from the output size */
    int32_t groups;
    float act_min, act_max;
} nncc_conv2d_params;

/*
 * x [batch,in_h,in_w,in_c], w [out_c,kernel_h,kernel_w,in_c/groups], b [out_c] or NULL, y [batch,out_h,out_w,out_c].
 * Sum over kernel row, kernel column, input channel, then the bias, then the clamp.
 */
/* KERNELS(nncc_conv2d_f32) */

/* The same, with distances in floats from a pixel of the result to the next, from a row and from an image. */
typedef struct
{
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
    int32_t groups;
    int32_t out_pitch, out_row, out_image;
    float act_min, act_max;
} nncc_conv2d_packed_params;

/*
 * The same for cores with fused multiply-add: every sum begins at the bias and takes its products in the same order,
 * each by one rounding. A transposed convolution is one call for each phase. packed: for each group, records of 8
 * output channels, the last one of 4 where no more are left, filled up with zeros; a record of n: bias [n] (zero where
 * there is none), then weights [kernel_h,kernel_w,in_c/groups,n]. Portable elsewhere, with a call of fmaf a product.
 */
/* KERNELS(nncc_conv2d_packed_f32) */

/* Depthwise 2-D convolution; the output has in_c*mult channels, channel c reads input channel c/mult. */
typedef struct
{
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, mult;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
    float act_min, act_max;
} nncc_depthwise_conv2d_params;

/*
 * x [batch,in_h,in_w,in_c], w [1,kernel_h,kernel_w,in_c*mult], b [in_c*mult] or NULL, y [batch,out_h,out_w,in_c*mult].
 * Sum over kernel row, kernel column, then the bias, then the clamp.
 */
/* KERNELS(nncc_depthwise_conv2d_f32) */

/* With one output of each channel and distances in floats from a pixel of the result to the next, a row, an image. */
typedef struct
{
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
    int32_t out_pitch, out_row, out_image;
    float act_min, act_max;
} nncc_depthwise_conv2d_packed_params;

/*
 * The same for cores with fused multiply-add. A transposed convolution is one call for each phase. packed: records of 8
 * channels, the last of which overlaps the one before where channels are no multiple of 8; with less than 8 channels
 * records of 4, likewise, or one filled up with zeros. A record of n: bias [n], weights [kernel_h,kernel_w,n].
 */
/* KERNELS(nncc_depthwise_conv2d_packed_f32) */

/*
 * 2-D transposed convolution (ONNX ConvTranspose). Input pixel i meets tap k at output i*stride + k*dilation - pad;
 * output padding is part of out_h, out_w.
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
    float act_min, act_max;
} nncc_conv_transpose2d_params;

/*
 * x [batch,in_h,in_w,in_c], w [out_c,kernel_h,kernel_w,in_c/groups], b [out_c] or NULL, y [batch,out_h,out_w,out_c].
 * Sum over input row, input column, input channel (ascending), then the bias, then the clamp.
 */
/* KERNELS(nncc_conv_transpose2d_f32) */

/* ---- matrix products ------------------------------------------------------------------------- */

/* Fully connected layer. */
typedef struct
{
    int32_t batch, in_n, out_n;
    float act_min, act_max;
} nncc_fully_connected_params;

/* x [batch,in_n], w [out_n,in_n], b [out_n] or NULL, y [batch,out_n]. Sum over the inputs, then the bias, the clamp. */
/* KERNELS(nncc_fully_connected_f32) */

/* Fully connected layer of which most weights are one number, the background: filter banks. */
typedef struct
{
    int32_t batch, in_n, out_n;
    float background;
    float act_min, act_max;
} nncc_sparse_params;

/*
 * x [batch,in_n], b [out_n] or NULL, y [batch,out_n]. runs: for each output how many runs of inputs have weights
 * besides the background, then first input and length of each; w: these weights less the background, one run after the
 * other. Sum of the products of the runs, then background times the sum of all inputs (unless it is 0), then the bias,
 * the clamp.
 */
/* KERNELS(nncc_sparse_f32) */

/*
 * Product of two run-time matrices. batch lists the batch dimensions (rank 0: none) with strides in elements, 0 where
 * an operand is broadcast. Element (i,k) of a matrix of a lies at i*a_row + k*a_col, so transposed operands need no
 * copy.
 */
typedef struct
{
    int32_t m, k, n;
    int32_t a_row, a_col;
    int32_t b_row, b_col;
    nncc_bcast_params batch;
} nncc_batch_matmul_params;

/* y [batch...,m,n] = a [batch...,m,k] * b [batch...,k,n]; sum over ascending k, fused where a core has the instruction.
 */
/* KERNELS(nncc_batch_matmul_f32) */

/* ---- pooling --------------------------------------------------------------------------------- */

/*
 * 2-D pooling. Ceil mode is expressed by out_h, out_w. pad_bottom, pad_right and count_include_pad matter to average
 * pooling only: then the divisor counts taps in rows [-pad_top, in_h+pad_bottom), else taps inside the input.
 */
typedef struct
{
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t count_include_pad;
} nncc_pool2d_params;

/* x [batch,in_h,in_w,in_c], y [batch,out_h,out_w,in_c]. A window wholly in the padding gives -infinity. */
/* KERNELS(nncc_max_pool2d_f32) */

/* As above; sum over rows, then columns, divided by the tap count (0 for a window without taps). */
/* KERNELS(nncc_avg_pool2d_f32) */

/* ONNX LpPool with exponent `power` (at least 1): (sum |x|^power)^(1/power). */
typedef struct
{
    nncc_pool2d_params pool;
    int32_t power;
} nncc_lp_pool2d_params;

/* x [batch,in_h,in_w,in_c], y [batch,out_h,out_w,in_c]. */
/* KERNELS(nncc_lp_pool2d_f32) */

/* ---- one axis of [outer, axis, inner] -------------------------------------------------------- */

/* An operator along the middle one of three dimensions. */
typedef struct
{
    int32_t outer, axis, inner;
} nncc_axis_params;

/* x, y [outer,axis,inner]: exp(x-max) times the reciprocal of their sum. In place. */
/* KERNELS(nncc_softmax_f32) */

/* x, y [outer,axis,inner]: (x-max) - log(sum exp(x-max)). In place. */
/* KERNELS(nncc_log_softmax_f32) */

/* x, y [outer,axis,inner]: 1 at the first largest element along the axis, 0 elsewhere (ONNX Hardmax). */
/* KERNELS(nncc_hardmax_f32) */

/* Reductions: x [outer,axis,inner], y [outer,inner]; sums and products in ascending axis order. */
/* KERNELS(reduce_f32) */

/* Arguments: select_last = 0 gives the first of equal elements, 1 the last. */
typedef struct
{
    int32_t outer, axis, inner;
    int32_t select_last;
} nncc_arg_params;

/* x [outer,axis,inner], y [outer,inner] as ONNX's int64. NaN is never selected, unless it is the first element. */
/* KERNELS(arg_f32) */

/* Running sum along an axis; exclusive leaves the element itself out, reverse starts at the end. */
typedef struct
{
    int32_t outer, axis, inner;
    int32_t exclusive, reverse;
} nncc_cumsum_params;

/* x, y [outer,axis,inner]. In place. */
/* KERNELS(nncc_cumsum_f32) */

/* ---- normalisation --------------------------------------------------------------------------- */

/* y = clamp(x * scale[c] + shift[c]) over rows of channels: BatchNormalization in linear form. */
typedef struct
{
    int32_t rows, channels;
    float act_min, act_max;
} nncc_scale_shift_params;

/* x, y [rows,channels], scale, shift [channels]. In place. */
/* KERNELS(nncc_scale_shift_f32) */

/* Normalisation of every row to mean 0 and variance 1. */
typedef struct
{
    int32_t rows, len;
    float epsilon;
} nncc_layer_norm_params;

/*
 * x, y [rows,len]; scale [len], bias [len] or NULL. y = (x-mean) * (1/sqrt(var+epsilon)) * scale + bias, the variance
 * taken around the mean in a second pass. In place.
 */
/* KERNELS(nncc_layer_norm_f32) */

/* As layer norm without centring (RMSNormalization): y = x * (1/sqrt(mean(x*x)+epsilon)) * scale. In place. */
/* KERNELS(nncc_rms_norm_f32) */

/* Statistics over spatial positions and the channels of a group; groups == channels is InstanceNormalization. */
typedef struct
{
    int32_t batch, spatial, channels, groups;
    float epsilon;
} nncc_group_norm_params;

/* x, y [batch,spatial,channels]; scale, bias [channels]. In place. */
/* KERNELS(nncc_group_norm_f32) */

/* Local response normalisation over `size` neighbouring channels (ONNX LRN). */
typedef struct
{
    int32_t rows, channels, size;
    float alpha, beta, bias;
} nncc_lrn_params;

/* x, y [rows,channels]: x / (bias + alpha/size * sum of squares)^beta. */
/* KERNELS(nncc_lrn_f32) */

/* Lp normalisation along an axis, power 1 or 2; a zero norm gives zeros. */
typedef struct
{
    int32_t outer, axis, inner;
    int32_t power;
} nncc_lp_norm_params;

/* x, y [outer,axis,inner]. In place. */
/* KERNELS(nncc_lp_norm_f32) */

/* ---- signals --------------------------------------------------------------------------------- */

/* Most passes of a transform. */
#define NNCC_FFT_PASSES 12

/* What lies outside of a signal: zeros, the signal mirrored, its first and last sample. */
#define NNCC_OUTSIDE_ZERO 0
#define NNCC_OUTSIDE_REFLECT 1
#define NNCC_OUTSIDE_EDGE 2

/*
 * Fourier transforms of overlapping frames. Frame f begins at sample f*step - pad; its samples lead to lead+window-1
 * count, times the window, the others are zero. bins: of each result, the first of length; power: squared magnitudes
 * instead of complex numbers. The product of the radices of the passes (2, 3, 4, 5; those of 4 first) is length/2, or
 * length where that is odd.
 */
typedef struct
{
    int32_t batch, samples, frames, step, pad;
    int32_t outside;
    int32_t lead, window;
    int32_t length, bins, power;
    int32_t zero; /* of an integer signal */
    int32_t passes;
    int32_t radix[NNCC_FFT_PASSES];
    /* fixed point: bits that a sample times the window loses; the value of 1 in a spectrum or of 1 in its powers */
    int32_t shift;
    float unit;
} nncc_spectrum_params;

/*
 * x [batch,samples], window [window]: its halves, times the scale of an integer signal; twiddle: as ir/qref (FFT) has
 * it; y [batch,frames,bins,2] or, power, [batch,frames,bins]. scratch: 2*length floats, 4*length where that is odd.
 */
/* KERNELS(spectrum) */

/*
 * The same in 32-bit fixed point, with window and twiddle in units of 2^-15 (ir/qref, FixedFFT); only results are
 * float. scratch: 2*length numbers, 4*length where that is odd.
 */
/* KERNELS(spectrum_fixed) */

/* ---- recurrent ------------------------------------------------------------------------------- */

/* Directions of a recurrent layer. */
#define NNCC_RNN_FORWARD 0
#define NNCC_RNN_REVERSE 1
#define NNCC_RNN_BIDIRECTIONAL 2

/* Activations of a recurrent layer, from ONNX's list. */
#define NNCC_RNN_SIGMOID 0
#define NNCC_RNN_TANH 1
#define NNCC_RNN_RELU 2
#define NNCC_RNN_AFFINE 3
#define NNCC_RNN_LEAKY_RELU 4
#define NNCC_RNN_THRESHOLDED_RELU 5
#define NNCC_RNN_SCALED_TANH 6
#define NNCC_RNN_HARD_SIGMOID 7
#define NNCC_RNN_ELU 8
#define NNCC_RNN_SOFTSIGN 9
#define NNCC_RNN_SOFTPLUS 10

/* One activation with its constants. */
typedef struct
{
    int32_t kind;
    float alpha, beta;
} nncc_rnn_act;

/*
 * Recurrent layer (ONNX LSTM, GRU, RNN, layout 0). D = 2 directions if bidirectional, else 1. act holds for each
 * direction f, g, h (LSTM), f, g (GRU) or f (RNN) at [3*direction...]. clip limits the inputs of activations to
 * [-clip, clip], except that of the LSTM's h (as ONNX Runtime has it), cell_clip new cell states of an LSTM; 0: none.
 * Unused fields of an operator are ignored.
 */
typedef struct
{
    int32_t seq, batch, in_n, hidden;
    int32_t direction;
    int32_t input_forget;        /* LSTM: forget gate = 1 - input gate */
    int32_t linear_before_reset; /* GRU */
    float clip;
    float cell_clip;
    nncc_rnn_act act[6];
} nncc_rnn_params;

/*
 * x [seq,batch,in_n], w [D,4*hidden,in_n], r [D,4*hidden,hidden], b [D,8*hidden] or NULL, peephole [D,3*hidden] or
 * NULL (order i, o, f), h0 and c0 [D,batch,hidden] or NULL (zero); gates in ONNX's order i, o, f, c.
 * y [seq,D,batch,hidden], y_h, y_c [D,batch,hidden]: each may be NULL. lens [batch] or NULL: steps used of each batch
 * entry; y is zero behind them. scratch: 6*hidden floats.
 * A gate's sum is x*w, + r*h, + bias of w, + bias of r, + peephole.
 */
/* KERNELS(nncc_lstm_f32) */

/*
 * x [seq,batch,in_n], w [D,3*hidden,in_n], r [D,3*hidden,hidden], b [D,6*hidden] or NULL, h0 [D,batch,hidden] or NULL;
 * gates in ONNX's order z, r, h. y, y_h, lens as for the LSTM. scratch: 5*hidden floats.
 */
/* KERNELS(nncc_gru_f32) */

/*
 * x [seq,batch,in_n], w [D,hidden,in_n], r [D,hidden,hidden], b [D,2*hidden] or NULL, h0 [D,batch,hidden] or NULL.
 * y, y_h, lens as for the LSTM. scratch: 2*hidden floats.
 */
/* KERNELS(nncc_rnn_f32) */

/* ---- resize ---------------------------------------------------------------------------------- */

/*
 * Separable resampling of the two spatial axes. Output row oy is the weighted sum of taps_h input rows
 * index_h[oy*taps_h + t] with weights weight_h[...], the same for columns by index_w and weight_w: 2 taps are linear, 4
 * cubic, more antialiased. nncc computes the tables, so every coordinate mode works. A row or column whose first index
 * is negative lies outside and gives the value `outside` (tf_crop_and_resize). Nearest: see nncc_resize_nearest in
 * nncc_move.h.
 */
typedef struct
{
    int32_t batch, in_h, in_w, channels;
    int32_t out_h, out_w;
    int32_t taps_h, taps_w;
    float outside;
} nncc_resize_params;

/*
 * x [batch,in_h,in_w,channels], y [batch,out_h,out_w,channels]. Sum over rows of (sum over columns) times row weight;
 * with 2x2 taps each times the product of its weights, fused where a core has the instruction.
 */
/* KERNELS(nncc_resize_f32) */

/* ---- element-wise, two inputs with broadcast ------------------------------------------------- */

/*
 * y [dims] = f(a, b); see nncc_bcast_params. In place where the operand is not broadcast. Functions without a kernel
 * here or below are written for the model: nncc_element_f32.h.
 */
/* KERNELS(binary_f32) */

/* ---- element-wise, one input ----------------------------------------------------------------- */

typedef struct
{
    int32_t count;
    float lo, hi; /* lo <= hi, may be infinite */
} nncc_clip_f32_params;

/* x, y [count]. All in place. */
/* KERNELS(nncc_clip_f32) */

/* ---- boxes ------------------------------------------------------------------------------------ */

/* TensorFlow Lite's DetectionPostprocess. */
typedef struct
{
    int32_t boxes;   /* how many there are */
    int32_t coords;  /* numbers of a box, the first four y, x, height, width */
    int32_t columns; /* scores of a box: classes, or one more, the background's, in front */
    int32_t classes;
    int32_t most;         /* detections */
    int32_t per_class;    /* boxes that stay in a class; 0: all classes compete, each box by its best score */
    int32_t labels, rows; /* classes that a detection is given for, and its rows in the results */
    float score, iou;     /* a box has at least that score, and overlaps no better one more */
    float scale[4];       /* of y, x, height, width */
} nncc_detections_params;

/*
 * Decodes boxes, centres and sizes in proportion to anchors [boxes,4] (in double), and selects those with the highest
 * scores; of equal ones the first. x [boxes,coords], s [boxes,columns]; results: boxes [most*rows,4] of two corners (y
 * and x each), classes and scores [most*rows], count [1]; zeros behind them. list, value [boxes]; kept [4*most], or
 * 4*boxes where that is less.
 */
/* KERNELS(nncc_detections_f32) */

/* ---- element types --------------------------------------------------------------------------- */

/* Element types of nncc_cast; bool is one byte, 0 or 1. */
#define NNCC_TYPE_BOOL 0
#define NNCC_TYPE_S8 1
#define NNCC_TYPE_U8 2
#define NNCC_TYPE_S16 3
#define NNCC_TYPE_U16 4
#define NNCC_TYPE_S32 5
#define NNCC_TYPE_U32 6
#define NNCC_TYPE_S64 7
#define NNCC_TYPE_F32 8

typedef struct
{
    int32_t count;
    int32_t from, to;
} nncc_cast_params;

/*
 * ONNX Cast: floats lose their fraction (NaN gives 0, values beyond int64 its nearest end), integers wrap, anything
 * but zero is true. x [count] of type from, y [count] of type to.
 */
/* KERNELS(nncc_cast) */
