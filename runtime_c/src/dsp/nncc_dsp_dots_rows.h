/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_dots_rows.h: two rows of inputs times one or two channels with the DSP extension, four inputs a turn: 18
 * instructions for 16 products, 13 for 8 of a single channel. Weights of a pair of channels are words for four inputs
 * in turn, the even ones of both, then the odd ones.
 */
#include "nncc_dsp_dots.h"
#include "nncc_simd32.h"

/* The products of up to three inputs with a byte each. */
static inline int32_t nncc_dsp_dots_rest(const int8_t *x, const int32_t *w, int32_t n, int32_t sum)
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
#define NNCC_DSP_DOTS inline
#else
#define NNCC_DSP_DOTS NNCC_APART
#endif

/* The sums of two rows by one channel. */
static NNCC_DSP_DOTS void nncc_dsp_dots_two_by_one(const int8_t *x, const int8_t *z, const int32_t *w, int32_t fours,
                                                   int32_t sums[2])
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

/* sums[2 * row + channel] of two rows by two channels. */
static NNCC_DSP_DOTS void nncc_dsp_dots_two_by_two(const int8_t *x, const int8_t *z, const int32_t *w, int32_t fours,
                                                   int32_t sums[4])
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
