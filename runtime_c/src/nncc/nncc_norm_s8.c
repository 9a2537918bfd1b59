/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_norm_s8: sums, reciprocal square root and scale of int8 normalisation. */
#include "nncc_norm_s8.h"

#include "nncc_bits.h"
#include "nncc_simd32.h"

/* The sums of at most NNCC_NORM_CHUNK values. */
#if NNCC_MVE_C && !NNCC_NORM_MVE
#define NNCC_NORM_BYTES(what, x) \
    do { \
        const int8x16_t v = NNCC_GET16S##what(x); \
\
        s = vaddvaq_s8(s, v); \
        q = vmladavaq_s8(q, v, v); \
        x += 16; \
    } while (0)
#endif

static void nncc_norm_chunk(const int8_t *x, int32_t n, int32_t *sum, uint32_t *square)
{
#if NNCC_NORM_MVE
    register int32_t s __asm("r2") = 0;
    register int32_t q __asm("r4") = 0;

    __asm volatile("wlstp.8 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[x]], #16\n\t"
                   "vaddva.s8 %[s], q0\n\t"
                   "vmladava.s8 %[q], q0, q0\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [x] "+r"(x), [s] "+r"(s), [q] "+r"(q)
                   : [n] "r"(n)
                   : "lr", "q0", "cc", "memory");
    *sum = s;
    *square = (uint32_t)q;
#elif NNCC_MVE_C
    int32_t s = 0, q = 0;

    NNCC_MVE_LOOP(n, 16, vctp8q, NNCC_NORM_BYTES, x);
    *sum = s;
    *square = (uint32_t)q;
#else
    int32_t s = 0;
    uint32_t q = 0;

#if NNCC_SIMD32
    const uint32_t ones = 0x00010001u;
    int32_t t = 0;

    for (; n >= 8; n -= 8) {
        const uint32_t a = nncc_load_word(x), b = nncc_load_word(x + 4);
        const uint32_t a0 = nncc_even_bytes(a), a1 = nncc_odd_bytes(a), b0 = nncc_even_bytes(b), b1 = nncc_odd_bytes(b);

        s = nncc_dual_add(nncc_dual_add(s, a0, ones), a1, ones);
        t = nncc_dual_add(nncc_dual_add(t, a0, a0), a1, a1);
        s = nncc_dual_add(nncc_dual_add(s, b0, ones), b1, ones);
        t = nncc_dual_add(nncc_dual_add(t, b0, b0), b1, b1);
        x += 8;
    }
    q = (uint32_t)t;
#endif
    for (; n > 0; n--) {
        const int32_t v = *x++;

        s += v;
        q += (uint32_t)(v * v);
    }
    *sum = s;
    *square = q;
#endif
}

void nncc_norm_add(const int8_t *x, int32_t n, nncc_norm_sums *s)
{
    while (n > 0) {
        const int32_t part = n < NNCC_NORM_CHUNK ? n : NNCC_NORM_CHUNK;
        int32_t sum;
        uint32_t square;

        nncc_norm_chunk(x, part, &sum, &square);
        s->sum += sum;
        s->square += square;
        x += part;
        n -= part;
    }
}

/* The upper half of a product. */
static inline uint32_t nncc_norm_high(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

nncc_norm_scale nncc_norm_of(const nncc_norm_s8_params *p, int32_t n, const nncc_norm_sums *s, int32_t center,
                             int32_t zero)
{
    const int64_t square = center ? s->square : s->square - (int64_t)(2 * zero) * s->sum + (int64_t)n * (zero * zero);
    const int64_t sum = center ? s->sum : (int64_t)n * zero;
    uint64_t v = (uint64_t)n * (uint64_t)square - (center ? (uint64_t)(sum * sum) : 0u);
    const int32_t flat = v == 0u ? 1 : 0; /* all values are the same */
    nncc_norm_scale r;
    uint32_t high, y;

    v = (p->up >= 0 ? v << p->up : v >> -p->up) + ((uint64_t)(uint32_t)p->eps << p->eps_shift);
    high = (uint32_t)(v >> 32);
    int32_t down = high != 0u ? nncc_leading_zeros(high) : (v != 0u ? 32 + nncc_leading_zeros((uint32_t)v) : 62);
    down &= ~1;
    /* v is high * 2^(32 - down), high in [2^30, 2^32): a parabola, 2.4 % off, and two steps of Newton's, 1.2e-6. */
    high = (uint32_t)((v << down) >> 32);
    y = 2867741933u - nncc_norm_high(high, 3527526616u - nncc_norm_high(high, 1759361713u));
    for (int32_t i = 0; i < 2; i++) {
        const uint32_t e = 0x30000000u - nncc_norm_high(high, nncc_norm_high(y, y));

        y = (uint32_t)(((uint64_t)y * e) >> 29);
    }
    down = 62 - p->root - down / 2;
    down = down < 1 ? 1 : (down > 62 ? 62 : down);
    r.scale = (int32_t)(uint32_t)(((uint64_t)n * y + ((uint64_t)1 << (down - 1))) >> down);
    r.offset = (sum * (int64_t)y + ((int64_t)1 << (down - 1))) >> down;
    if (flat != 0) { /* at last: data does not decide how often the loop turns */
        r.scale = 0;
        r.offset = 0;
    }
    return r;
}
