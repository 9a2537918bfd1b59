/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_recurrent_f32.h"

void nncc_rnn_f32(const nncc_rnn_params *p, const float *x, const float *w, const float *r, const float *b,
                  const float *h0, const int32_t *lens, float *y, float *y_h, float *scratch)
{
    const int32_t n = p->hidden;
    const int32_t dirs = p->direction == NNCC_RNN_BIDIRECTIONAL ? 2 : 1;
    float *h = scratch;
    float *sum = scratch + n;

    for (int32_t d = 0; d < dirs; d++) {
        const int32_t reverse = d == 1 || p->direction == NNCC_RNN_REVERSE;
        const float *bw = b != NULL ? b + d * 2 * n : NULL;

        for (int32_t k = 0; k < p->batch; k++) {
            const int32_t state = (d * p->batch + k) * n;
            const int32_t len = lens != NULL ? lens[k] : p->seq;

            nncc_rnn_copy(h, h0 != NULL ? h0 + state : NULL, n);
            for (int32_t s = 0; s < p->seq; s++) {
                const int32_t t = reverse && s < len ? len - 1 - s : s;

                if (s < len) {
                    nncc_rnn_gates(p, n, x + (t * p->batch + k) * p->in_n, w + d * n * p->in_n, h, r + d * n * n, bw,
                                   bw != NULL ? bw + n : NULL, sum);
                    for (int32_t j = 0; j < n; j++) {
                        h[j] = nncc_rnn_activate(p, &p->act[3 * d], sum[j]);
                    }
                }
                if (y != NULL) {
                    nncc_rnn_copy(y + ((t * dirs + d) * p->batch + k) * n, s < len ? h : NULL, n);
                }
            }
            nncc_rnn_copy(y_h != NULL ? y_h + state : NULL, h, n);
        }
    }
}
