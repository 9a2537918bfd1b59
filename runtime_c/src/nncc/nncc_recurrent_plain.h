/* nncc_recurrent_plain.h: the products and updates of nncc_lstm_int.h in C. */
#ifndef NNCC_RECURRENT_PLAIN_H
#define NNCC_RECURRENT_PLAIN_H

#include "nncc_recurrent_int.h"

static inline void nncc_start_state(int16_t *c, const int16_t *from, int32_t n)
{
    if (from != NULL) {
        memcpy(c, from, (size_t)n * sizeof *c);
    } else {
        memset(c, 0, (size_t)n * sizeof *c);
    }
}

static inline void nncc_start_hidden(nncc_elem *h, const nncc_elem *from, int32_t n, int32_t zero)
{
    for (int32_t i = 0; i < n; i++) {
        h[i] = from != NULL ? from[i] : (nncc_elem)zero;
    }
}

/* A value of the hidden state. */
static inline nncc_elem nncc_hidden(const nncc_recurrent_params *p, int32_t v)
{
    v = nncc_rq(v, p->output.multiplier, p->output.shift) + p->zero;
    return (nncc_elem)(v < NNCC_ELEM_MIN ? NNCC_ELEM_MIN : (v > NNCC_ELEM_MAX ? NNCC_ELEM_MAX : v));
}

#ifdef NNCC_RECURRENT_PORTABLE

/* Inputs of a block of weights; 0: all of them. */
#ifndef NNCC_GATE_BLOCK
#define NNCC_GATE_BLOCK 0
#endif

static inline const void *nncc_prepared(const nncc_elem *x, int32_t n, void *room)
{
    (void)n;
    (void)room;
    return x;
}

/* Some of the products of four units, whose weights lie step bytes apart. */
#if defined(__thumb__) && !defined(__thumb2__)
/* Eight registers hold two units. */
static void nncc_gate_part(const nncc_elem *x, int32_t n, const int8_t *w, int32_t step, uint32_t acc[4])
{
    for (int32_t unit = 0; unit < 4; unit += 2) {
        const int8_t *const w1 = w + step;
        uint32_t a = acc[unit], b = acc[unit + 1];

        for (int32_t k = 0; k < n; k++) {
            const int32_t v = x[k];

            a += (uint32_t)(v * w[k]);
            b += (uint32_t)(v * w1[k]);
        }
        acc[unit] = a;
        acc[unit + 1] = b;
        w = w1 + step;
    }
}
#else
static inline void nncc_gate_part(const nncc_elem *x, int32_t n, const int8_t *w, int32_t step, uint32_t acc[4])
{
    uint32_t a = acc[0], b = acc[1], c = acc[2], d = acc[3];

    for (int32_t k = 0; k < n; k++) {
        const int32_t v = x[k];

        a += (uint32_t)(v * w[k]);
        b += (uint32_t)(v * w[step + k]);
        c += (uint32_t)(v * w[2 * step + k]);
        d += (uint32_t)(v * w[3 * step + k]);
    }
    acc[0] = a;
    acc[1] = b;
    acc[2] = c;
    acc[3] = d;
}
#endif

static inline const int8_t *nncc_gate(const nncc_gate_scale *s, const void *x, int32_t n, const int8_t *w,
                                      int32_t groups, int16_t *z, int32_t add)
{
    for (; groups > 0; groups--) {
        const nncc_elem *from = x;
        uint32_t acc[4];
        int32_t k;

        memcpy(acc, w, sizeof acc);
        w += sizeof acc;
        k = n;
#if NNCC_GATE_BLOCK > 0
        for (; k > NNCC_GATE_BLOCK; k -= NNCC_GATE_BLOCK) {
            nncc_gate_part(from, NNCC_GATE_BLOCK, w, NNCC_GATE_BLOCK, acc);
            from += NNCC_GATE_BLOCK;
            w += 4 * NNCC_GATE_BLOCK;
        }
#endif
        nncc_gate_part(from, k, w, k, acc);
        w += 4 * k;
        for (k = 0; k < 4; k++) {
            const int32_t v = nncc_rq((int32_t)acc[k], s->multiplier, s->shift);

            z[k] = (int16_t)nncc_sat16(add != 0 ? z[k] + v : v);
        }
        z += 4;
    }
    return w;
}

#endif

#if defined(NNCC_RECURRENT_PORTABLE) || defined(NNCC_RECURRENT_SCALAR)

static inline void nncc_lstm_update(const nncc_recurrent_params *p, const int16_t *z, int16_t *c, nncc_elem *h)
{
    const int32_t n = p->units, whole = nncc_whole4(n), add = p->state_power + 29;

    for (int32_t u = 0; u < n; u++) {
        const int32_t in = nncc_sigmoid_q15(z[u]), out = nncc_sigmoid_q15(z[whole + u]);
        const int32_t keep = nncc_sigmoid_q15(z[2 * whole + u]), update = nncc_tanh_q15(3 * z[3 * whole + u]);

        c[u] = (int16_t)nncc_sat16(nncc_rq_power(keep * c[u], 14) + nncc_rq_power(in * update, add));
        h[u] = nncc_hidden(p, out * nncc_tanh_q15(nncc_state_q12(c[u], p->state_power)));
    }
}

/* What the reset gate r leaves of the hidden state. */
static inline void nncc_gru_reset(const nncc_recurrent_params *p, const int16_t *r, const nncc_elem *h, nncc_elem *kept)
{
    for (int32_t u = 0; u < p->units; u++) {
        kept[u] = (nncc_elem)(nncc_half_up(nncc_sigmoid_q15(r[u]) * (h[u] - p->zero), 15) + p->zero);
    }
}

static inline void nncc_gru_update(const nncc_recurrent_params *p, const int16_t *z, int16_t *c, nncc_elem *h)
{
    const int32_t n = p->units, whole = nncc_whole4(n);

    for (int32_t u = 0; u < n; u++) {
        const int32_t keep = nncc_sigmoid_q15(z[u]);
        int32_t v = z[2 * whole + u];

        if (p->linear_before_reset != 0) {
            v = nncc_sat16(v + nncc_half_up(nncc_sigmoid_q15(z[whole + u]) * z[3 * whole + u], 15));
        }
        v = nncc_half_up((32768 - keep) * nncc_tanh_q15(3 * v), 15 + p->state_power);
        c[u] = (int16_t)nncc_sat16(nncc_half_up(keep * c[u] + v, 15));
        h[u] = nncc_hidden(p, c[u]);
    }
}

#endif

#endif /* NNCC_RECURRENT_PLAIN_H */
