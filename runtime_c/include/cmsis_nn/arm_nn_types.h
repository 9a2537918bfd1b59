/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * Types of the CMSIS-NN API: struct and field names, field order and enum
 * values are those of CMSIS-NN revision 99f736a6, so that emitted code links
 * with either implementation. Written for nncc.
 *
 * Conventions: tensors are NHWC in dims {n, h, w, c}. An "input_offset" is
 * minus the zero point, an "output_offset" is the zero point itself. A shift is
 * positive to the left. The real scale is multiplier * 2^(shift - 31).
 */
#include <stdint.h>

#ifdef __cplusplus
#define NNCC_BOOL bool
#else
#define NNCC_BOOL _Bool
#endif

/* What every kernel returns. */
typedef enum
{
    ARM_CMSIS_NN_SUCCESS = 0,
    ARM_CMSIS_NN_ARG_ERROR = -1,     /* arguments do not fit together */
    ARM_CMSIS_NN_NO_IMPL_ERROR = -2, /* no such variant */
    ARM_CMSIS_NN_FAILURE = -3        /* could not be computed */
} arm_cmsis_nn_status;

/* Non-linearity of an LSTM gate. */
typedef enum
{
    ARM_SIGMOID = 0,
    ARM_TANH = 1
} arm_nn_activation_type;

/* A pair of horizontal and vertical values. */
typedef struct
{
    int32_t w;
    int32_t h;
} cmsis_nn_tile;

/* Scratch memory of one call; buf may be NULL for these portable kernels. */
typedef struct
{
    void *buf;
    int32_t size;
} cmsis_nn_context;

/* Bias of the int16 kernels: int32 or int64 elements. */
typedef struct
{
    const void *data;
    const NNCC_BOOL is_int32_bias;
} cmsis_nn_bias_data;

/* Dimensions of a tensor; filters use {out channels, h, w, in channels}. */
typedef struct
{
    int32_t n;
    int32_t h;
    int32_t w;
    int32_t c;
} cmsis_nn_dims;

/* One multiplier and shift for every output channel. */
typedef struct
{
    int32_t *multiplier;
    int32_t *shift;
} cmsis_nn_per_channel_quant_params;

/* One multiplier and shift for the whole tensor. */
typedef struct
{
    int32_t multiplier;
    int32_t shift;
} cmsis_nn_per_tensor_quant_params;

/* Either of the two above: arrays of one or of "channels" elements. */
typedef struct
{
    int32_t *multiplier;
    int32_t *shift;
    int32_t is_per_channel;
} cmsis_nn_quant_params;

/* Clamp of the quantised output, both ends included. */
typedef struct
{
    int32_t min;
    int32_t max;
} cmsis_nn_activation;

/* Convolution. padding is what precedes the data, on the left and at the top;
 * what follows is implied by the output dimensions. */
typedef struct
{
    int32_t input_offset;
    int32_t output_offset;
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_tile dilation;
    cmsis_nn_activation activation;
} cmsis_nn_conv_params;

/* Transposed convolution; dilation must be 1. */
typedef struct
{
    int32_t input_offset;
    int32_t output_offset;
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_tile padding_offsets;
    cmsis_nn_tile dilation;
    cmsis_nn_activation activation;
} cmsis_nn_transpose_conv_params;

/* Depthwise convolution: out channels = in channels * ch_mult. */
typedef struct
{
    int32_t input_offset;
    int32_t output_offset;
    int32_t ch_mult;
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_tile dilation;
    cmsis_nn_activation activation;
} cmsis_nn_dw_conv_params;

/* Pooling. */
typedef struct
{
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_activation activation;
} cmsis_nn_pool_params;

/* Fully connected layer; filter_offset is minus the filter's zero point. */
typedef struct
{
    int32_t input_offset;
    int32_t filter_offset;
    int32_t output_offset;
    cmsis_nn_activation activation;
} cmsis_nn_fc_params;

/* Batched matrix product. */
typedef struct
{
    const NNCC_BOOL adj_x;
    const NNCC_BOOL adj_y;
    cmsis_nn_fc_params fc_params;
} cmsis_nn_bmm_params;

/* Transpose: output axis i is input axis permutations[i]. */
typedef struct
{
    const int32_t num_dims;
    const uint32_t *permutations;
} cmsis_nn_transpose_params;

/* Tables of the int16 softmax. */
typedef struct
{
    const int16_t *exp_lut;
    const int16_t *one_by_one_lut;
} cmsis_nn_softmax_lut_s16;

/* One LSTM gate. The effective biases (int32, one per hidden unit) hold the
 * weight sums times the offset of the data they multiply; the input one holds
 * the gate's bias too. */
typedef struct
{
    int32_t input_multiplier;
    int32_t input_shift;
    const void *input_weights;
    const void *input_effective_bias;
    int32_t hidden_multiplier;
    int32_t hidden_shift;
    const void *hidden_weights;
    const void *hidden_effective_bias;
    const void *bias;
    arm_nn_activation_type activation_type;
} cmsis_nn_lstm_gate;

/* An LSTM layer. */
typedef struct
{
    int32_t time_major; /* 0: [batch, time, size], else [time, batch, size] */
    int32_t batch_size;
    int32_t time_steps;
    int32_t input_size;
    int32_t hidden_size;
    int32_t input_offset;
    int32_t forget_to_cell_multiplier;
    int32_t forget_to_cell_shift;
    int32_t input_to_cell_multiplier;
    int32_t input_to_cell_shift;
    int32_t cell_clip; /* limit of the cell state's magnitude, 0 for none */
    int32_t cell_scale_power;
    int32_t output_multiplier;
    int32_t output_shift;
    int32_t output_offset;
    cmsis_nn_lstm_gate forget_gate;
    cmsis_nn_lstm_gate input_gate;
    cmsis_nn_lstm_gate cell_gate;
    cmsis_nn_lstm_gate output_gate;
} cmsis_nn_lstm_params;

/* Buffers of an LSTM: temp1, temp2 and cell_state hold batch_size * hidden_size
 * int16 values. hidden_state (int8) may be NULL: then both states start at
 * zero; otherwise both are read at the start and written back at the end. */
typedef struct
{
    void *temp1;
    void *temp2;
    void *cell_state;
    void *hidden_state;
} cmsis_nn_lstm_context;
