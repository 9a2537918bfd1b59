/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_recurrent_f32.h"

/* One step of one batch entry: h [hidden] becomes the new state; work: 4*hidden floats. */
static void nncc_gru_step(const nncc_rnn_params *p, const nncc_rnn_act *act, const float *x, const float *w,
                          const float *r, const float *b, float *h, float *work)
{
    const int32_t n = p->hidden;
    const float *bw = b;                            /* biases of w: z, r, h */
    const float *br = b != NULL ? b + 3 * n : NULL; /* biases of r: z, r, h */
    const float *bwh = b != NULL ? bw + 2 * n : NULL;
    const float *brh = b != NULL ? br + 2 * n : NULL;
    const float *wh = w + 2 * n * p->in_n;
    const float *rh = r + 2 * n * n;
    float *gates = work;         /* z, r */
    float *reset = work + 2 * n; /* what the reset gate acts on */
    float *cand = work + 3 * n;

    nncc_rnn_gates(p, 2 * n, x, w, h, r, bw, br, gates);
    for (int32_t j = 0; j < 2 * n; j++) {
        gates[j] = nncc_rnn_activate(p, &act[0], gates[j]);
    }
    if (p->linear_before_reset != 0) {
        nncc_rnn_gates(p, n, NULL, NULL, h, rh, NULL, brh, reset);
        nncc_rnn_gates(p, n, x, wh, NULL, NULL, bwh, NULL, cand);
        for (int32_t j = 0; j < n; j++) {
            cand[j] += gates[n + j] * reset[j];
        }
    } else {
        for (int32_t j = 0; j < n; j++) {
            reset[j] = gates[n + j] * h[j];
        }
        nncc_rnn_gates(p, n, x, wh, reset, rh, bwh, brh, cand);
    }
    for (int32_t j = 0; j < n; j++) {
        h[j] = (1.0f - gates[j]) * nncc_rnn_activate(p, &act[1], cand[j]) + gates[j] * h[j];
    }
}

void nncc_gru_f32(const nncc_rnn_params *p, const float *x, const float *w, const float *r, const float *b,
                  const float *h0, const int32_t *lens, float *y, float *y_h, float *scratch)
{
    const int32_t n = p->hidden;
    const int32_t dirs = p->direction == NNCC_RNN_BIDIRECTIONAL ? 2 : 1;

    for (int32_t d = 0; d < dirs; d++) {
        const int32_t reverse = d == 1 || p->direction == NNCC_RNN_REVERSE;

        for (int32_t k = 0; k < p->batch; k++) {
            const int32_t state = (d * p->batch + k) * n;
            const int32_t len = lens != NULL ? lens[k] : p->seq;

            nncc_rnn_copy(scratch, h0 != NULL ? h0 + state : NULL, n);
            for (int32_t s = 0; s < p->seq; s++) {
                const int32_t t = reverse && s < len ? len - 1 - s : s;

                if (s < len) {
                    nncc_gru_step(p, p->act + 3 * d, x + (t * p->batch + k) * p->in_n, w + d * 3 * n * p->in_n,
                                  r + d * 3 * n * n, b != NULL ? b + d * 6 * n : NULL, scratch, scratch + n);
                }
                if (y != NULL) {
                    nncc_rnn_copy(y + ((t * dirs + d) * p->batch + k) * n, s < len ? scratch : NULL, n);
                }
            }
            nncc_rnn_copy(y_h != NULL ? y_h + state : NULL, scratch, n);
        }
    }
}
