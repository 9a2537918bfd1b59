/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_recurrent_f32.h: what LSTM, GRU and RNN share (nncc_recurrent_f32.c). */
#include "nncc_f32.h"

/*
 * out[j] = sum of x[i]*w[j,i] + sum of h[i]*r[j,i] (+ bw[j]) (+ br[j]) for j < rows. x has p->in_n elements, h has
 * p->hidden; h, bw and br may be NULL.
 */
void nncc_rnn_gates(const nncc_rnn_params *p, int32_t rows, const float *x, const float *w, const float *h,
                    const float *r, const float *bw, const float *br, float *out);

/* Activation `act` of v, limited to [-clip, clip] before where clip > 0. */
float nncc_rnn_activate(const nncc_rnn_params *p, const nncc_rnn_act *act, float v);

/* Activation `act` of v as it is. */
float nncc_rnn_function(const nncc_rnn_act *act, float v);

/* Copies n floats, or sets them to zero where `from` is NULL; does nothing where `to` is NULL. */
void nncc_rnn_copy(float *to, const float *from, int32_t n);
