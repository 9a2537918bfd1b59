/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * The CMSIS-NN functions that nncc's emitted code calls: same names, signatures
 * and results as CMSIS-NN revision 99f736a6, implemented portably in
 * src/cmsis_nn, one function per file. An installed CMSIS-NN may be linked
 * instead. Written for nncc.
 *
 * All of them work with any scratch buffer, NULL included. Formats and limits of
 * the arguments are documented in arm_nn_types.h.
 *
 * Parameters, as in CMSIS-NN: the *_dims (input_dims, filter_dims, bias_dims,
 * output_dims, out_dims, upscale_dims, input_lhs_dims, input_rhs_dims) are {n, h, w, c}
 * of a tensor; input, input_data, input_lhs, input_rhs and output, output_data are
 * NHWC; filter, filter_data lie as is said below; bias, bias_data have one element
 * an output channel, or are NULL; ctx is scratch memory. Offsets are minus the zero
 * point of an input and plus that of an output, in steps; multipliers are Q31,
 * shifts go to the left where they are positive.
 */
#include "arm_nn_math_types.h"
#include "arm_nn_types.h"

/* Convolution. Filter {out channels, h, w, in channels / groups}, one bias (may be
 * NULL), multiplier and shift per output channel. The wrapper is what models call:
 * CMSIS-NN chooses a variant there; all variants give the same numbers. */
/* KERNELS(convolve_s8) */

/* Depthwise convolution. Filter {1, h, w, out channels}. */
/* KERNELS(depthwise_conv_s8) */

/* Transposed convolution. Filter {out channels, h, w, in channels}. CMSIS-NN keeps
 * partial sums in ctx and a reversed filter in output_ctx; neither is used here. */
/* KERNELS(transpose_conv_s8) */

/* Fully connected layer. filter_dims {n = accumulation depth, c = outputs}, input
 * {n = batches}. With the MVE build of CMSIS-NN ctx holds sums of the weights; here it
 * is not used. */
/* KERNELS(fully_connected_s8) */

/* Batched product of two activations: left {n, h, rows, depth}, right transposed
 * {n, h, columns, depth}; n and h of 1 broadcast. */
/* KERNELS(arm_batch_matmul_s8) */

/* Element-wise. left_shift of the addition is 20 (CMSIS-NN's DSP build needs 16 at
 * least). Minimum and maximum (input_1_data,
 * input_1_dims, input_2_data, input_2_dims) broadcast every dimension of size 1. Sums and
 * products: input_1_vect, input_2_vect and output [block_size]; input_1_offset,
 * input_2_offset, out_offset; multipliers and shifts of each (input_1_mult,
 * input_1_shift, input_2_mult, input_2_shift, out_mult, out_shift); clamp to
 * out_activation_min and out_activation_max, in steps of the output. */
/* KERNELS(elementwise_s8) */

/* Pooling. The average is taken over the elements inside the input and rounds ties
 * away from zero; ctx holds 4 bytes per channel in CMSIS-NN's DSP build. */
/* KERNELS(pool_s8) */

/* Softmax over rows: output scale 1/256, zero point -128.
 * input and output [num_rows, row_size]; mult, shift scale differences to the row's
 * largest value to Q5.26, those below diff_min count as 0 (TensorFlow Lite). */
/* KERNELS(softmax_s8) */

/* Data movement of bytes, as they are. arm_reshape_s8: total_size bytes. arm_pad_s8:
 * input_size, pre_pad and post_pad are {n, h, w, c}, pad_value is a value of the
 * tensor. Transpose: transpose_params has the order of axes. Concatenation of one
 * input of the sizes input_x (innermost), input_y, input_z, input_w along one axis, on
 * which the output has output_x, output_y or output_z elements and the input begins at
 * offset_x, offset_y, offset_z or offset_w. */
/* KERNELS(move_s8) */

/* LSTM with int8 data, int8 hidden state and int16 (Q15 scaled) cell state.
 * input, output: sequences; buffers: scratch memory, cell and hidden state. */
/* KERNELS(arm_lstm_unidirectional_s8) */

/* Sigmoid or tanh of int16 values in Q3.12 (left_shift adds integer bits) to Q0.15. input, output [size];
 * type is which of both. */
/* KERNELS(arm_nn_activation_s16) */

/* int16 data and int8 filters ("16x8"): zero points are 0, the offsets of the
 * parameter structs are not used. Sums are exact, of 64 bits with an int64 bias;
 * with an int32 bias (cmsis_nn_bias_data) they wrap and are requantised as int8
 * ones are. No groups but those of the depthwise convolution. Parameters are those of
 * arm_elementwise_add_s8 and the other functions above. */
/* KERNELS(int16) */
/* Softmax over rows of up to 65536 elements, output scale 1/32768; mult and shift of softmax_params
 * scale differences to steps of 10/65535. input, output [num_rows, row_size]. */
/* KERNELS(arm_softmax_s16) */

/* int8 data and int4 filters, two weights a byte, the first one in the low half,
 * without gaps between rows. Results are those of the int8 functions; no groups. */
/* KERNELS(int4) */
