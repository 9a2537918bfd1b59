/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_recurrent_f32: gates and activations of recurrent layers. */
#include "nncc_fp.h"

#include <string.h>

#include "nncc_dot_f32.h"
#include "nncc_element_f32.h"
#include "nncc_recurrent_f32.h"

void nncc_rnn_gates(const nncc_rnn_params *p, int32_t rows, const float *x, const float *w, const float *h,
                    const float *r, const float *bw, const float *br, float *out)
{
    for (int32_t j = 0; j < rows;) {
        const int32_t lanes = rows - j >= 4 ? 4 : 1;
        float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};

        if (x != NULL) {
            nncc_dot_f32(x, w + j * p->in_n, p->in_n, p->in_n, lanes, acc);
        }
        if (h != NULL) {
            nncc_dot_f32(h, r + j * p->hidden, p->hidden, p->hidden, lanes, acc);
        }
        for (int32_t k = 0; k < lanes; k++, j++) {
            float v = acc[k];

            if (bw != NULL) {
                v += bw[j];
            }
            if (br != NULL) {
                v += br[j];
            }
            out[j] = v;
        }
    }
}

float nncc_rnn_activate(const nncc_rnn_params *p, const nncc_rnn_act *act, float v)
{
    return nncc_rnn_function(act, p->clip > 0.0f ? nncc_clamp_f32(v, -p->clip, p->clip) : v);
}

float nncc_rnn_function(const nncc_rnn_act *act, float v)
{
    switch (act->kind) {
    case NNCC_RNN_SIGMOID:
        return nncc_el_sigmoid_f32(v);
    case NNCC_RNN_TANH:
        return nncc_el_tanh_f32(v);
    case NNCC_RNN_RELU:
        return v > 0.0f ? v : 0.0f;
    case NNCC_RNN_AFFINE:
        return act->alpha * v + act->beta;
    case NNCC_RNN_LEAKY_RELU:
        return v >= 0.0f ? v : act->alpha * v;
    case NNCC_RNN_THRESHOLDED_RELU:
        return v > act->alpha ? v : 0.0f;
    case NNCC_RNN_SCALED_TANH:
        return act->alpha * nncc_el_tanh_f32(act->beta * v);
    case NNCC_RNN_HARD_SIGMOID:
        return nncc_clamp_f32(act->alpha * v + act->beta, 0.0f, 1.0f);
    case NNCC_RNN_ELU:
        return v >= 0.0f ? v : act->alpha * expm1f(v);
    case NNCC_RNN_SOFTSIGN:
        return v / (1.0f + fabsf(v));
    default: /* NNCC_RNN_SOFTPLUS */
        return nncc_el_softplus_f32(v);
    }
}

void nncc_rnn_copy(float *to, const float *from, int32_t n)
{
    if (to == NULL) {
        return;
    }
    if (from != NULL) {
        memcpy(to, from, (size_t)n * sizeof(float));
    } else {
        for (int32_t i = 0; i < n; i++) {
            to[i] = 0.0f;
        }
    }
}
