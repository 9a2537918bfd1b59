/*
 * nncc_lstm_int.h: LSTM over a sequence. An including file has defined
 *   nncc_elem, NNCC_ELEM_MIN, NNCC_ELEM_MAX: data and hidden state;
 *   nncc_prepared(x, n, room): n elements as nncc_gate reads them;
 *   nncc_gate(s, x, n, w, groups, z, add): products of prepared elements with packed weights in z [4 * groups], or
 *   added to it; what follows the weights;
 *   nncc_lstm_update(p, z, c, h): the states after the gates z [4][units, rounded up to 4].
 */
#ifndef NNCC_LSTM_INT_H
#define NNCC_LSTM_INT_H

#include "nncc_recurrent_int.h"

/* The products of all gates. */
static inline void nncc_lstm_gates(const nncc_gate_scale *s, const void *x, int32_t n, const int8_t *w, int32_t groups,
                                   int16_t *z, int32_t add)
{
    for (int32_t g = 0; g < 4; g++) {
        w = nncc_gate(s + g, x, n, w, groups, z + 4 * groups * g, add);
    }
}

static inline void nncc_lstm_run(const nncc_recurrent_params *p, const nncc_elem *x, const int8_t *w, const int8_t *r,
                                 const nncc_elem *h0, const int16_t *c0, nncc_elem *y, nncc_elem *y_h, int16_t *y_c,
                                 int16_t *scratch)
{
    const int32_t n = p->units, whole = nncc_whole4(n);
    int16_t *const z = scratch, *const c = z + 4 * whole, *const room = c + 2 * whole;
    nncc_elem *const h = (nncc_elem *)(c + whole);

    for (int32_t b = 0; b < p->batch; b++) {
        nncc_start_state(c, c0 != NULL ? c0 + b * n : NULL, n);
        nncc_start_hidden(h, h0 != NULL ? h0 + b * n : NULL, n, p->zero);
        for (int32_t s = 0; s < p->steps; s++) {
            const int32_t at = (p->reverse != 0 ? p->steps - 1 - s : s) * p->batch + b;

            nncc_lstm_gates(p->input, nncc_prepared(x + at * p->inputs, p->inputs, room), p->inputs, w, whole / 4, z,
                            0);
            nncc_lstm_gates(p->hidden, nncc_prepared(h, n, room), n, r, whole / 4, z, 1);
            nncc_lstm_update(p, z, c, h);
            if (y != NULL) {
                memcpy(y + at * n, h, (size_t)n * sizeof *h);
            }
        }
        if (y_h != NULL) {
            memcpy(y_h + b * n, h, (size_t)n * sizeof *h);
        }
        if (y_c != NULL) {
            memcpy(y_c + b * n, c, (size_t)n * sizeof *c);
        }
    }
}

#endif /* NNCC_LSTM_INT_H */
