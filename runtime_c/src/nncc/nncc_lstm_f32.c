/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_dot_f32.h"
#include "nncc_recurrent_f32.h"

/* One step of one batch entry: h and c [hidden] become the new state; gates: 4*hidden floats. */
static void nncc_lstm_step(const nncc_rnn_params *p, const nncc_rnn_act *act, const float *x, const float *w,
                           const float *r, const float *b, const float *peephole, float *h, float *c, float *gates)
{
    const int32_t n = p->hidden;
    const float *in = gates;
    const float *out = gates + n;
    const float *forget = gates + 2 * n;
    const float *cell = gates + 3 * n;

    nncc_rnn_gates(p, 4 * n, x, w, h, r, b, b != NULL ? b + 4 * n : NULL, gates);
    for (int32_t j = 0; j < n; j++) {
        float i = in[j];
        float f = forget[j];
        float o = out[j];

        if (peephole != NULL) {
            i += peephole[j] * c[j];
            f += peephole[2 * n + j] * c[j];
        }
        i = nncc_rnn_activate(p, &act[0], i);
        f = p->input_forget != 0 ? 1.0f - i : nncc_rnn_activate(p, &act[0], f);
        c[j] = f * c[j] + i * nncc_rnn_activate(p, &act[1], cell[j]);
        if (p->cell_clip > 0.0f) {
            c[j] = nncc_clamp_f32(c[j], -p->cell_clip, p->cell_clip);
        }
        if (peephole != NULL) {
            o += peephole[n + j] * c[j];
        }
        h[j] = nncc_rnn_activate(p, &act[0], o) * nncc_rnn_function(&act[2], c[j]);
    }
}

void nncc_lstm_f32(const nncc_rnn_params *p, const float *x, const float *w, const float *r, const float *b,
                   const float *peephole, const float *h0, const float *c0, const int32_t *lens, float *y, float *y_h,
                   float *y_c, float *scratch)
{
    const int32_t n = p->hidden;
    const int32_t dirs = p->direction == NNCC_RNN_BIDIRECTIONAL ? 2 : 1;
    float *h = scratch;
    float *c = scratch + n;

    for (int32_t d = 0; d < dirs; d++) {
        const int32_t reverse = d == 1 || p->direction == NNCC_RNN_REVERSE;

        for (int32_t k = 0; k < p->batch; k++) {
            const int32_t state = (d * p->batch + k) * n;
            const int32_t len = lens != NULL ? lens[k] : p->seq;

            nncc_rnn_copy(h, h0 != NULL ? h0 + state : NULL, n);
            nncc_rnn_copy(c, c0 != NULL ? c0 + state : NULL, n);
            for (int32_t s = 0; s < p->seq; s++) {
                const int32_t t = reverse && s < len ? len - 1 - s : s;

                if (s < len) {
                    nncc_lstm_step(p, p->act + 3 * d, x + (t * p->batch + k) * p->in_n, w + d * 4 * n * p->in_n,
                                   r + d * 4 * n * n, b != NULL ? b + d * 8 * n : NULL,
                                   peephole != NULL ? peephole + d * 3 * n : NULL, h, c, scratch + 2 * n);
                }
                if (y != NULL) {
                    nncc_rnn_copy(y + ((t * dirs + d) * p->batch + k) * n, s < len ? h : NULL, n);
                }
            }
            nncc_rnn_copy(y_h != NULL ? y_h + state : NULL, h, n);
            nncc_rnn_copy(y_c != NULL ? y_c + state : NULL, c, n);
        }
    }
}
