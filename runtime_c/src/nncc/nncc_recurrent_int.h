/*
 * nncc_recurrent_int.h: steps of LSTM and GRU on quantised values. An including file defines nncc_elem, the element of
 * data and hidden state with the ends of its range, and includes the products of one of the cores.
 */
#ifndef NNCC_RECURRENT_INT_H
#define NNCC_RECURRENT_INT_H

#include <string.h>
#include "nncc_recurrent.h"
#include "nncc_requant.h"

extern const uint16_t nncc_sigmoid_points[256];

/* Units, and room for as many as the products compute. */
static inline int32_t nncc_whole4(int32_t n)
{
    return (n + 3) & ~3;
}

static inline int32_t nncc_sat16(int32_t v)
{
    return v < -32768 ? -32768 : (v > 32767 ? 32767 : v);
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

#endif /* NNCC_RECURRENT_INT_H */
