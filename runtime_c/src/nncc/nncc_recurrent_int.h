/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_recurrent_int.h: what LSTM and GRU on quantised values share whatever their element is. */
#include <string.h>
#include "nncc_isa.h"
#include "nncc_recurrent.h"
#include "nncc_requant.h"
#include "nncc_sigmoid_points.h"

/* Units, and room for as many as the products compute. */
static inline int32_t nncc_whole4(int32_t n)
{
    return (n + 3) & ~3;
}

static inline int32_t nncc_sat16(int32_t v)
{
    return v < -32768 ? -32768 : (v > 32767 ? 32767 : v);
}

/* A new cell state within its limits. */
static inline int32_t nncc_state_limited(const nncc_recurrent_params *p, int32_t v)
{
    return v < p->state_least ? p->state_least : (v > p->state_most ? p->state_most : v);
}

/* 2^(bits + 16) * sigmoid(m / 24 / 2^bits): beyond the last point as close to 1 as it gets. */
static inline uint32_t nncc_sigmoid_line(uint32_t m, uint32_t bits)
{
    const uint32_t end = (255u << bits) - 1u;
    const uint32_t at = m < end ? m : end;
    const uint16_t *const p = nncc_sigmoid_points + (at >> bits);

    return ((uint32_t)p[0] << bits) + (at & ((1u << bits) - 1u)) * (uint32_t)(p[1] - p[0]);
}

/* sigmoid of a value in Q3.12, in Q0.15. */
static inline int32_t nncc_sigmoid_q15(int32_t v)
{
    const int32_t x = 3 * v;
    const int32_t r = (int32_t)((nncc_sigmoid_line((uint32_t)(x < 0 ? -x : x), 9u) + 512u) >> 10);

    return x < 0 ? 32768 - r : r;
}

/* tanh of three times a value in Q3.12, in Q0.15. */
static inline int32_t nncc_tanh_q15(int32_t x)
{
    const int32_t r = (int32_t)((nncc_sigmoid_line((uint32_t)(x < 0 ? -x : x), 8u) + 128u) >> 8) - 32768;

    return x < 0 ? -r : r;
}

/* Three times a state with the scale 2^power, in Q3.12. */
static inline int32_t nncc_state_q12(int32_t c, int32_t power)
{
    const int32_t left = power + 12;

    return left >= 0 ? c * (3 << left) : (3 * c + (1 << (-left - 1))) >> -left;
}

/* v / 2^(exponent + 1), in the two roundings of nncc_rq; |v| is at most 2^30. */
static inline int32_t nncc_rq_power(int32_t v, int32_t exponent)
{
    const int32_t half = (v + 1) >> 1;

    return (half + (1 << (exponent - 1)) + (half >> 31)) >> exponent;
}

/* v / 2^exponent, ties up. */
static inline int32_t nncc_half_up(int32_t v, int32_t exponent)
{
    return exponent == 0 ? v : (v + (1 << (exponent - 1))) >> exponent;
}

/* The state of a sequence begins with from, or with zeros. */
static inline void nncc_start_state(int16_t *c, const int16_t *from, int32_t n)
{
    if (from != NULL) {
        memcpy(c, from, (size_t)n * sizeof *c);
    } else {
        memset(c, 0, (size_t)n * sizeof *c);
    }
}

/* The hidden state of a sequence begins with from, or with zeros; a value of it. */
static inline void nncc_start_hidden_s8(int8_t *h, const int8_t *from, int32_t n, int32_t zero)
{
    for (int32_t i = 0; i < n; i++) {
        h[i] = from != NULL ? from[i] : (int8_t)zero;
    }
}

static inline int8_t nncc_hidden_s8(const nncc_recurrent_params *p, int32_t v)
{
    v = nncc_rq(v, p->output.multiplier, p->output.shift) + p->zero;
    return (int8_t)(v < -128 ? -128 : (v > 127 ? 127 : v));
}

static inline void nncc_start_hidden_s16(int16_t *h, const int16_t *from, int32_t n, int32_t zero)
{
    for (int32_t i = 0; i < n; i++) {
        h[i] = from != NULL ? from[i] : (int16_t)zero;
    }
}

static inline int16_t nncc_hidden_s16(const nncc_recurrent_params *p, int32_t v)
{
    v = nncc_rq(v, p->output.multiplier, p->output.shift) + p->zero;
    return (int16_t)(v < -32768 ? -32768 : (v > 32767 ? 32767 : v));
}
