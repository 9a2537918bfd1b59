/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * The CMSIS-NN functions that nncc's emitted code calls: same names, signatures
 * and results as CMSIS-NN revision 99f736a6, implemented portably in
 * src/cmsis_nn, one function per file. An installed CMSIS-NN may be linked
 * instead. Written for nncc.
 *
 * All of them work with any scratch buffer, NULL included; the
 * *_get_buffer_size functions below return what these implementations need (0).
 * Formats and limits of the arguments are documented in arm_nn_types.h.
 */
#ifndef ARM_NNFUNCTIONS_H
#define ARM_NNFUNCTIONS_H

#include "arm_nn_math_types.h"
#include "arm_nn_types.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 * {n = batches}. With the MVE build of CMSIS-NN ctx holds the kernel sums that
 * arm_vector_sum_s8 computes; here ctx is not used. */
/* KERNELS(fully_connected_s8) */

/* Batched product of two activations: left {n, h, rows, depth}, right transposed
 * {n, h, columns, depth}; n and h of 1 broadcast. */
/* KERNELS(arm_batch_matmul_s8) */

/* Element-wise. left_shift of the addition is 20 (CMSIS-NN's DSP build needs 16 at
 * least). Minimum and maximum broadcast every dimension of size 1. */
/* KERNELS(elementwise_s8) */

/* Pooling. The average is taken over the elements inside the input and rounds ties
 * away from zero; ctx holds 4 bytes per channel in CMSIS-NN's DSP build. */
/* KERNELS(pool_s8) */

/* Softmax over rows: output scale 1/256, zero point -128 (s16: 1/32768 around -32768). */
/* KERNELS(softmax_s8) */

/* Data movement. */
/* KERNELS(move_s8) */

/* LSTM with int8 data, int8 hidden state and int16 (Q15 scaled) cell state. */
/* KERNELS(arm_lstm_unidirectional_s8) */

/* Sigmoid or tanh of int16 values in Q3.12 (left_shift adds integer bits) to Q0.15. */
/* KERNELS(arm_nn_activation_s16) */

/* int16 data and int8 filters ("16x8"): zero points are 0, the offsets of the
 * parameter structs are not used. Sums are exact, of 64 bits with an int64 bias;
 * with an int32 bias (cmsis_nn_bias_data) they wrap and are requantised as int8
 * ones are. No groups but those of the depthwise convolution. */
/* KERNELS(int16) */
/* Softmax over rows of up to 65536 elements, output scale 1/32768; mult and shift
 * scale differences to steps of 10/65535. */
/* KERNELS(arm_softmax_s16) */

/* int8 data and int4 filters, two weights a byte, the first one in the low half,
 * without gaps between rows. Results are those of the int8 functions; no groups. */
/* KERNELS(int4) */

#ifdef __cplusplus
}
#endif

#endif
