/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_dots_s8: two rows of inputs times two channels, four inputs a turn: 18 instructions for 16 products, 13 for
 * 8 of a single channel, 8 for 4 of a single row, too. Weights of a pair of channels are words for four inputs in turn,
 * the even ones of both, then the odd ones.
 */
#include "nncc_dsp_dots.h"
#include "nncc_simd32.h"

/* The products of up to three inputs with a byte each. */
static inline int32_t rest(const int8_t *x, const int32_t *w, int32_t n, int32_t sum)
{
    const int8_t *const bytes = (const int8_t *)w;

    NNCC_ROLLED
    for (int32_t k = 0; k < n; k++) {
        sum += x[k] * bytes[k];
    }
    return sum;
}

/* Compilers find registers for a loop of many sums where it is a function. */
#if NNCC_DSP_ASM
#define NNCC_DOTS inline
#else
#define NNCC_DOTS NNCC_APART
#endif

/* The sums of two rows by one channel. */
static NNCC_DOTS void two_by_one(const int8_t *x, const int8_t *z, const int32_t *w, int32_t fours, int32_t sums[2])
{
    int32_t a = sums[0], b = sums[1];

    NNCC_ROLLED
    for (; fours > 0; fours--) {
        const uint32_t v = nncc_load_word(x), u = nncc_load_word(z), even = (uint32_t)w[0], odd = (uint32_t)w[1];

        x += 4;
        z += 4;
        w += 2;
        a = nncc_dual_add(a, nncc_even_bytes(v), even);
        b = nncc_dual_add(b, nncc_even_bytes(u), even);
        a = nncc_dual_add(a, nncc_odd_bytes(v), odd);
        b = nncc_dual_add(b, nncc_odd_bytes(u), odd);
    }
    sums[0] = a;
    sums[1] = b;
}

/* The rows times a channel by itself. */
static void one_channel(const nncc_dsp_dots_params *p, const int8_t *x, const int32_t *head, int8_t *y)
{
    const nncc_dsp_dots_channel h = nncc_dsp_dots_head(p, head);
    const int32_t fours = p->in_c >> 2, left = p->in_c & 3, in_pitch = p->in_pitch, out_pitch = p->out_pitch;
    int32_t rows = p->rows;

    for (; rows > 1; rows -= 2) {
        const int32_t *const w = head + NNCC_DSP_DOTS_HEAD, *const end = w + 2 * fours;
        const int8_t *const below = x + in_pitch;
        int32_t sums[2] = {h.start, h.start};

        two_by_one(x, below, w, fours, sums);
        nncc_dsp_dots_store(&h, rest(x + 4 * fours, end, left, sums[0]), y);
        nncc_dsp_dots_store(&h, rest(below + 4 * fours, end, left, sums[1]), y + out_pitch);
        x += 2 * in_pitch;
        y += 2 * out_pitch;
    }
    if (rows > 0) {
        const int32_t *w = head + NNCC_DSP_DOTS_HEAD;
        int32_t a = h.start;

        NNCC_ROLLED
        for (int32_t k = fours; k > 0; k--) {
            const uint32_t v = nncc_load_word(x);

            a = nncc_dual_add(a, nncc_even_bytes(v), (uint32_t)w[0]);
            a = nncc_dual_add(a, nncc_odd_bytes(v), (uint32_t)w[1]);
            x += 4;
            w += 2;
        }
        nncc_dsp_dots_store(&h, rest(x, w, left, a), y);
    }
}

/* sums[2 * row + channel] of two rows by two channels. */
static NNCC_DOTS void two_by_two(const int8_t *x, const int8_t *z, const int32_t *w, int32_t fours, int32_t sums[4])
{
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];

#if NNCC_DSP_ASM
    uint32_t u, v, even, w0, w1;

    __asm volatile("cbz %[n], 2f\n"
                   "1: ldr %[v], [%[x]], #4\n ldrd %[w0], %[w1], [%[w]], #8\n sxtb16 %[e], %[v]\n"
                   "smlad %[a], %[e], %[w0], %[a]\n smlad %[b], %[e], %[w1], %[b]\n"
                   "ldr %[u], [%[z]], #4\n sxtb16 %[e], %[u]\n"
                   "smlad %[c], %[e], %[w0], %[c]\n smlad %[d], %[e], %[w1], %[d]\n"
                   "ldrd %[w0], %[w1], [%[w]], #8\n sxtb16 %[v], %[v], ror #8\n sxtb16 %[u], %[u], ror #8\n"
                   "smlad %[a], %[v], %[w0], %[a]\n smlad %[b], %[v], %[w1], %[b]\n"
                   "smlad %[c], %[u], %[w0], %[c]\n smlad %[d], %[u], %[w1], %[d]\n"
                   "subs %[n], #1\n bne 1b\n2:\n"
                   : [x] "+r"(x), [z] "+r"(z), [w] "+r"(w), [n] "+l"(fours), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c),
                     [d] "+r"(d), [u] "=&r"(u), [v] "=&r"(v), [e] "=&r"(even), [w0] "=&r"(w0), [w1] "=&r"(w1)
                   :
                   : "memory", "cc");
#else
    NNCC_ROLLED
    for (; fours > 0; fours--) {
        const uint32_t v = nncc_load_word(x), u = nncc_load_word(z);

        a = nncc_dual_add(a, nncc_even_bytes(v), (uint32_t)w[0]);
        b = nncc_dual_add(b, nncc_even_bytes(v), (uint32_t)w[1]);
        c = nncc_dual_add(c, nncc_even_bytes(u), (uint32_t)w[0]);
        d = nncc_dual_add(d, nncc_even_bytes(u), (uint32_t)w[1]);
        a = nncc_dual_add(a, nncc_odd_bytes(v), (uint32_t)w[2]);
        b = nncc_dual_add(b, nncc_odd_bytes(v), (uint32_t)w[3]);
        c = nncc_dual_add(c, nncc_odd_bytes(u), (uint32_t)w[2]);
        d = nncc_dual_add(d, nncc_odd_bytes(u), (uint32_t)w[3]);
        x += 4;
        z += 4;
        w += 4;
    }
#endif
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

/* The rows times a pair of channels. */
static void two_channels(const nncc_dsp_dots_params *p, const int8_t *x, const int32_t *head, int8_t *y)
{
    const nncc_dsp_dots_channel h = nncc_dsp_dots_head(p, head);
    const nncc_dsp_dots_channel g = nncc_dsp_dots_head(p, head + NNCC_DSP_DOTS_HEAD);
    const int32_t fours = p->in_c >> 2, left = p->in_c & 3, out_pitch = p->out_pitch;
    const int32_t *const w = head + 2 * NNCC_DSP_DOTS_HEAD, *const end = w + 4 * fours;

    for (int32_t rows = p->rows; rows > 0; rows -= 2) {
        const int8_t *const below = rows > 1 ? x + p->in_pitch : x;
        int32_t sums[4] = {h.start, g.start, h.start, g.start};

        two_by_two(x, below, w, fours, sums);
        if (left > 0) {
            sums[0] = rest(x + 4 * fours, end, left, sums[0]);
            sums[1] = rest(x + 4 * fours, end + 1, left, sums[1]);
            sums[2] = rest(below + 4 * fours, end, left, sums[2]);
            sums[3] = rest(below + 4 * fours, end + 1, left, sums[3]);
        }
        nncc_dsp_dots_store(&h, sums[0], y);
        nncc_dsp_dots_store(&g, sums[1], y + 1);
        if (rows > 1) {
            nncc_dsp_dots_store(&h, sums[2], y + out_pitch);
            nncc_dsp_dots_store(&g, sums[3], y + out_pitch + 1);
        }
        x += 2 * p->in_pitch;
        y += 2 * out_pitch;
    }
}

void nncc_dsp_dots_s8(const nncc_dsp_dots_params *p, const int8_t *x, const int32_t *w, int8_t *y)
{
    const int32_t words = (p->in_c >> 2) * 2 + ((p->in_c & 3) != 0 ? 1 : 0) + NNCC_DSP_DOTS_HEAD;
    int32_t c = 0;

    for (; c + 1 < p->out_c; c += 2) {
        two_channels(p, x, w, y + c);
        w += 2 * words;
    }
    if (c < p->out_c) {
        one_channel(p, x, w, y + c);
    }
}
