/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* LSTM, one hidden unit at a time: the four gates of a unit are computed
 * together, so temp1 and temp2 of the context are not used. */
#include "nncc_cmsis.h"

static int32_t saturate16(int32_t v)
{
    return nncc_min(nncc_max(v, NN_Q15_MIN), NN_Q15_MAX);
}

/* One product of a weight row with its data, scaled to Q3.12. */
static int32_t scaled_dot(const int8_t *data, const void *weights, const void *bias, int32_t unit, int32_t len,
                          int32_t multiplier, int32_t shift)
{
    const int8_t *w = (const int8_t *)weights + unit * len;
    uint32_t acc = (uint32_t)((const int32_t *)bias)[unit];

    for (int32_t i = 0; i < len; i++) {
        acc += (uint32_t)(data[i] * w[i]);
    }
    return nncc_requantize((int32_t)acc, multiplier, shift);
}

/* A gate's activation for one unit, Q0.15; hidden is NULL for a zero state. */
static int32_t gate_value(const cmsis_nn_lstm_gate *gate, const cmsis_nn_lstm_params *params, const int8_t *data,
                          const int8_t *hidden, int32_t unit)
{
    int32_t v = saturate16(scaled_dot(data, gate->input_weights, gate->input_effective_bias, unit, params->input_size,
                                      gate->input_multiplier, gate->input_shift));

    if (hidden != NULL) {
        v = saturate16(v + scaled_dot(hidden, gate->hidden_weights, gate->hidden_effective_bias, unit,
                                      params->hidden_size, gate->hidden_multiplier, gate->hidden_shift));
    }
    int16_t out = (int16_t)v;
    (void)arm_nn_activation_s16(&out, &out, 1, 0, gate->activation_type);
    return out;
}

/* One time step of one batch. */
static void lstm_step(const cmsis_nn_lstm_params *params, const int8_t *data, const int8_t *hidden, int16_t *cell,
                      int8_t *out)
{
    const int32_t clip = params->cell_clip;

    for (int32_t u = 0; u < params->hidden_size; u++) {
        const int32_t forget = gate_value(&params->forget_gate, params, data, hidden, u);
        const int32_t input = gate_value(&params->input_gate, params, data, hidden, u);
        const int32_t update = gate_value(&params->cell_gate, params, data, hidden, u);
        const int32_t output = gate_value(&params->output_gate, params, data, hidden, u);
        int32_t c = saturate16(
            nncc_requantize(forget * cell[u], params->forget_to_cell_multiplier, params->forget_to_cell_shift));
        int16_t squashed;

        c += nncc_requantize(input * update, params->input_to_cell_multiplier, params->input_to_cell_shift);
        c = clip > 0 ? nncc_min(nncc_max(c, -clip), clip) : saturate16(c);
        cell[u] = (int16_t)c;
        (void)arm_nn_activation_s16(&cell[u], &squashed, 1, params->cell_scale_power + 12, ARM_TANH);
        c = nncc_requantize(output * squashed, params->output_multiplier, params->output_shift) + params->output_offset;
        out[u] = (int8_t)nncc_min(nncc_max(c, NN_Q7_MIN), NN_Q7_MAX);
    }
}

arm_cmsis_nn_status arm_lstm_unidirectional_s8(const int8_t *input, int8_t *output, const cmsis_nn_lstm_params *params,
                                               cmsis_nn_lstm_context *buffers)
{
    const int32_t hidden_size = params->hidden_size;
    /* distance of two steps of a batch, and of two batches of a step, in vectors */
    const int32_t step = params->time_major != 0 ? params->batch_size : 1;
    const int32_t next = params->time_major != 0 ? 1 : params->time_steps;

    for (int32_t b = 0; b < params->batch_size; b++) {
        int16_t *cell = (int16_t *)buffers->cell_state + b * hidden_size;
        int8_t *state = NULL;
        const int8_t *hidden = NULL;

        if (buffers->hidden_state != NULL) {
            state = (int8_t *)buffers->hidden_state + b * hidden_size;
            hidden = state;
        } else {
            (void)memset(cell, 0, (size_t)hidden_size * sizeof(*cell));
        }
        for (int32_t t = 0; t < params->time_steps; t++) {
            const int32_t at = b * next + t * step;
            int8_t *out = output + at * hidden_size;

            lstm_step(params, input + at * params->input_size, hidden, cell, out);
            hidden = out;
        }
        if (state != NULL && params->time_steps > 0) {
            (void)memcpy(state, hidden, (size_t)hidden_size);
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
