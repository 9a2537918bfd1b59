/*
 * nncc_gru_int.h: GRU over a sequence. What an including file has defined is that of nncc_lstm_int.h, and
 *   nncc_gru_reset(p, r, h, kept): what the reset gate leaves of the hidden state;
 *   nncc_gru_update(p, z, c, h): the states after the gates z [3][units, rounded up to 4], the product of the last gate
 *   with the hidden state behind them where it is linear before the reset.
 */
#ifndef NNCC_GRU_INT_H
#define NNCC_GRU_INT_H

#include "nncc_recurrent_int.h"

/* One step: x its inputs; kept and room are memory for elements and for prepared ones. */
static inline void nncc_gru_step(const nncc_recurrent_params *p, const nncc_elem *x, const int8_t *w, const int8_t *r,
                                 int16_t *z, int16_t *c, nncc_elem *h, nncc_elem *kept, int16_t *room)
{
    const int32_t n = p->units, groups = nncc_whole4(n) / 4, slot = 4 * groups;
    const void *from = nncc_prepared(x, p->inputs, room);

    for (int32_t g = 0; g < 3; g++) {
        w = nncc_gate(p->input + g, from, p->inputs, w, groups, z + g * slot, 0);
    }
    from = nncc_prepared(h, n, room);
    for (int32_t g = 0; g < 2; g++) {
        r = nncc_gate(p->hidden + g, from, n, r, groups, z + g * slot, 1);
    }
    if (p->linear_before_reset != 0) {
        (void)nncc_gate(p->hidden + 2, from, n, r, groups, z + 3 * slot, 0);
    } else {
        nncc_gru_reset(p, z + slot, h, kept);
        (void)nncc_gate(p->hidden + 2, nncc_prepared(kept, n, room), n, r, groups, z + 2 * slot, 1);
    }
    nncc_gru_update(p, z, c, h);
}

static inline void nncc_gru_run(const nncc_recurrent_params *p, const nncc_elem *x, const int8_t *w, const int8_t *r,
                                const int16_t *c0, nncc_elem *y, nncc_elem *y_h, int16_t *y_c, int16_t *scratch)
{
    const int32_t n = p->units, whole = nncc_whole4(n);
    int16_t *const z = scratch, *const c = z + 4 * whole, *const room = c + 4 * whole;
    nncc_elem *const h = (nncc_elem *)(c + whole), *const kept = (nncc_elem *)(c + 2 * whole);

    for (int32_t b = 0; b < p->batch; b++) {
        nncc_start_state(c, c0 != NULL ? c0 + b * n : NULL, n);
        for (int32_t u = 0; u < n; u++) {
            h[u] = nncc_hidden(p, c[u]);
        }
        for (int32_t s = 0; s < p->steps; s++) {
            const int32_t at = (p->reverse != 0 ? p->steps - 1 - s : s) * p->batch + b;

            nncc_gru_step(p, x + at * p->inputs, w, r, z, c, h, kept, room);
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

#endif /* NNCC_GRU_INT_H */
