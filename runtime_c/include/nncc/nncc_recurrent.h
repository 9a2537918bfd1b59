/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_recurrent.h: LSTM and GRU on quantised values, one direction: data and hidden state int8 or int16, weights int8,
 * state int16. x is the sequence, y the hidden state of every step; w and r are the packed weights of both.
 *
 * A gate of a unit is a sum of products with X and one with the hidden state, each requantised to Q3.12 (twice rounded,
 * as in TensorFlow Lite) and saturated to int16, and so is what they add up to; sigmoid and tanh take Q3.12 to Q0.15 by
 * straight lines between the points of nncc_sigmoid_points. The state has the scale 2^state_power.
 *
 * Packed weights, a gate after the other, in the order of the operator: for every 4 units (the last ones filled up with
 * zeros) int32 bias[4], zero points folded in (of LSTM's hidden state nothing else, so a state of zeros adds nothing),
 * then the weights of unit 0, 1, 2, 3. nncc_helium_*: those of every 16
 * bytes of inputs by themselves, then those of the inputs that remain; 16 bytes behind the end are readable.
 * nncc_dsp_*: see lower/kernel/dsp.
 */
#include "nncc.h"

/* A requantisation: Q31 multiplier, shift to the left or, negative, to the right. */
typedef struct
{
    int32_t multiplier, shift;
} nncc_gate_scale;

typedef struct
{
    nncc_gate_scale input[4];  /* products with X, by gate */
    nncc_gate_scale hidden[4]; /* products with the hidden state */
    nncc_gate_scale output;    /* to the hidden state */
    int32_t steps, batch, inputs, units;
    int32_t reverse; /* 1: from the last step to the first */
    int32_t zero;    /* zero point of Y and of the hidden state */
    int32_t state_power;
    int32_t state_least, state_most; /* LSTM: limits of the cell state */
    int32_t linear_before_reset;     /* GRU: 1 where the reset gate multiplies the product */
} nncc_recurrent_params;

/*
 * LSTM, gates i, o, f, c. x [steps,batch,inputs], w and r packed; h0, c0 [batch,units], NULL for zeros; y
 * [steps,batch,units], y_h, y_c [batch,units], each NULL where it is not wanted. y_h and y_c may be h0 and c0.
 * scratch: 16-aligned, 12 bytes for every unit (their number rounded up to 4); nncc_dsp_*: and 2 bytes for every input
 * or unit, whichever are more, rounded up to 16.
 */
/* KERNELS(lstm) */

/*
 * GRU, gates z, r, h. c0 and y_c are the state, of which the hidden state y_h is the value in the scale of Y. scratch:
 * 16 bytes for every unit, else as for LSTM. The rest is as for LSTM.
 */
/* KERNELS(gru) */
