/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_acle.h: the DSP extension by intrinsics, or in C where there is none, and the matrix products with them. GCC
 * 12 has no pattern for PKHBT, SMMLA and SMMLAR and no rotation in SXTB16: an instruction more each.
 */
#include "nncc_saturate.h"
#include "nncc_simd32.h"

/* Instructions by what they do. */
#if NNCC_DSP_ACLE
#define NNCC_SMLAD(a, b, sum) __smlad(a, b, sum)
#define NNCC_SMLABB(a, b, sum) __smlabb(a, b, sum)
#define NNCC_SMLABT(a, b, sum) __smlabt(a, b, sum)
#define NNCC_SMLATB(a, b, sum) __smlatb(a, b, sum)
#define NNCC_SMLATT(a, b, sum) __smlatt(a, b, sum)
#define NNCC_USAT8(v) ((uint32_t)__usat(v, 8))
#else
#define NNCC_SMLAD(a, b, sum) \
    nncc_half_add(nncc_half_add(sum, nncc_dsp_lo(a), nncc_dsp_lo(b)), nncc_dsp_hi(a), nncc_dsp_hi(b))
#define NNCC_SMLABB(a, b, sum) nncc_half_add(sum, nncc_dsp_lo(a), nncc_dsp_lo(b))
#define NNCC_SMLABT(a, b, sum) nncc_half_add(sum, nncc_dsp_lo(a), nncc_dsp_hi(b))
#define NNCC_SMLATB(a, b, sum) nncc_half_add(sum, nncc_dsp_hi(a), nncc_dsp_lo(b))
#define NNCC_SMLATT(a, b, sum) nncc_half_add(sum, nncc_dsp_hi(a), nncc_dsp_hi(b))
#define NNCC_USAT8(v) nncc_limited8(v)

static inline int32_t nncc_half_add(int32_t sum, int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)sum + (uint32_t)(a * b));
}

static inline uint32_t nncc_limited8(int32_t v)
{
    return (uint32_t)(v < 0 ? 0 : (v > 255 ? 255 : v));
}

/* Four sums of bytes: of what is in their lower seven bits, and without a carry the upper one. */
static inline uint32_t nncc_add8(uint32_t a, uint32_t b)
{
    return ((a & 0x7f7f7f7fu) + (b & 0x7f7f7f7fu)) ^ ((a ^ b) & 0x80808080u);
}
#endif

/* A difference that wraps: of sums that have others in them. */
#define NNCC_DSP_LESS(a, b) ((int32_t)((uint32_t)(a) - (uint32_t)(b)))

/* Bytes 0 and 2, and bytes 1 and 3, as two int16. */
static inline int32_t nncc_dsp_even(int32_t w)
{
    return (int32_t)nncc_even_bytes((uint32_t)w);
}

static inline int32_t nncc_dsp_odd(int32_t w)
{
    return (int32_t)nncc_odd_bytes((uint32_t)w);
}

/* The lower halves of two words, and the upper ones; the first one below. */
static inline int32_t nncc_dsp_lows(int32_t a, int32_t b)
{
    return (int32_t)(((uint32_t)a & 0xffffu) | ((uint32_t)b << 16));
}

static inline int32_t nncc_dsp_highs(int32_t a, int32_t b)
{
    return (int32_t)(((uint32_t)a >> 16) | ((uint32_t)b & 0xffff0000u));
}

/* nncc_dsp_scale, as SMMLAR or SMLAL; with the sign correction. */
static inline int32_t nncc_dsp_rounded(int32_t twice, int32_t m, int32_t c, int32_t s)
{
    const int64_t from = (int64_t)(((uint64_t)(uint32_t)c << 32) | 0x80000000u);

    return (int32_t)((from + (int64_t)twice * m) >> 32) >> s;
}

static inline int32_t nncc_dsp_scaled(int32_t twice, int32_t m, int32_t c, int32_t s)
{
    return nncc_dsp_rounded(twice, m, c + (twice >> 31), s);
}

/* Two int16 limited to 0 to 255. What GCC's __usat16 expands to does not compile with -Wsign-conversion. */
static inline uint32_t nncc_dsp_limited(uint32_t v)
{
#if !NNCC_DSP_ACLE
    return nncc_limited8(nncc_low_half(v)) | (nncc_limited8(nncc_high_half(v)) << 16);
#elif defined(__GNUC__)
    return (uint32_t)__builtin_arm_usat16((int32_t)v, 8);
#else
    return (uint32_t)__usat16((int16x2_t)v, 8);
#endif
}

/* Four outputs of 16 bits as bytes, 0 to 255. */
static inline uint32_t nncc_dsp_bytes(int32_t a, int32_t b, int32_t c, int32_t d)
{
    return nncc_dsp_limited((uint32_t)nncc_dsp_lows(a, c)) | (nncc_dsp_limited((uint32_t)nncc_dsp_lows(b, d)) << 8);
}

/* nncc_dsp_clamp of four bytes: bias is that of low and cap. */
static inline uint32_t nncc_dsp_bias(uint32_t low, uint32_t cap)
{
#if NNCC_DSP_ACLE
    return __usub8(low, cap);
#else
    return nncc_add8(nncc_add8(low, ~cap), 0x01010101u);
#endif
}

static inline uint32_t nncc_dsp_clamped(uint32_t v, uint32_t bias, uint32_t cap)
{
#if NNCC_DSP_ACLE
    return __uadd8(__uqadd8(v, cap), bias);
#else
    const uint32_t sum = nncc_add8(v, cap), over = ((v & cap) | ((v | cap) & ~sum)) & 0x80808080u;

    return nncc_add8(sum | ((over << 1) - (over >> 7)), bias);
#endif
}

/* Kinds of packed weights, and the words that a pair of inputs has of them. */
#define NNCC_DSP_NARROW 2
#define NNCC_DSP_WIDE 4
#define NNCC_DSP_FOURS 1

/* The sums of one or two pixels: a, b, c, d of the channels, 0 and 1 of the pixels. */
typedef struct
{
    int32_t a0, a1, b0, b1, c0, c1, d0, d1;
} nncc_dsp_sums;

/* Adds a pair of inputs of two pixels times w. */
#define NNCC_DSP_MAC(sum, w) \
    do { \
        s->sum##0 = NNCC_SMLAD(x0, w, s->sum##0); \
        s->sum##1 = NNCC_SMLAD(x1, w, s->sum##1); \
    } while (0)

/* Two words one after the other: GCC makes LDRD of two loads that stand so. */
#define NNCC_DSP_LOAD_BOTH(p, a, b) \
    do { \
        (a) = (p)[0]; \
        (b) = (p)[1]; \
    } while (0)

/* Adds a pair of inputs of two pixels times the weights of four channels. */
NNCC_INLINED void nncc_dsp_pair_of(nncc_dsp_sums *s, int32_t words, const int32_t *x, const int32_t *w)
{
    int32_t x0, x1, u, v;

    NNCC_DSP_LOAD_BOTH(x, x0, x1);
    if (words == NNCC_DSP_NARROW) {
        NNCC_DSP_LOAD_BOTH(w, u, v);
        NNCC_DSP_MAC(b, u);
        NNCC_DSP_MAC(d, v);
        u = nncc_dsp_even(u);
        v = nncc_dsp_even(v);
        NNCC_DSP_MAC(a, u);
        NNCC_DSP_MAC(c, v);
    } else if (words == NNCC_DSP_WIDE) {
        NNCC_DSP_LOAD_BOTH(w, u, v);
        NNCC_DSP_MAC(a, u);
        NNCC_DSP_MAC(b, v);
        NNCC_DSP_LOAD_BOTH(w + 2, u, v);
        NNCC_DSP_MAC(c, u);
        NNCC_DSP_MAC(d, v);
    } else {
        v = w[0];
        NNCC_DSP_MAC(d, v);
        v &= 0x0fff0fff;
        NNCC_DSP_MAC(c, v);
        v &= 0x00ff00ff;
        NNCC_DSP_MAC(b, v);
        v &= 0x000f000f;
        NNCC_DSP_MAC(a, v);
    }
}

/*
 * The start values of a pixel, from memory; weights of 4 bits are 8 too large in three channels: part is 8 times the
 * inputs' sum.
 */
#define NNCC_DSP_START(px, part) \
    do { \
        NNCC_DSP_LOAD_BOTH(start, s->a##px, s->b##px); \
        NNCC_DSP_LOAD_BOTH(start + 2, s->c##px, s->d##px); \
        if (words == NNCC_DSP_FOURS) { \
            s->a##px = NNCC_DSP_LESS(s->a##px, part); \
            s->b##px = NNCC_DSP_LESS(s->b##px, 17 * (part)); \
            s->c##px = NNCC_DSP_LESS(s->c##px, 273 * (part)); \
            s->d##px = NNCC_DSP_LESS(s->d##px, 273 * (part)); \
        } \
    } while (0)

/* Two pairs of inputs of one pixel; the weights of a pair begin `pitch` words behind those of the one before. */
NNCC_INLINED void nncc_dsp_two_pairs_of(nncc_dsp_sums *s, int32_t words, int32_t pitch, const int32_t *x,
                                        const int32_t *w)
{
    int32_t in[2];

    NNCC_DSP_LOAD_BOTH(x, in[0], in[1]);
    if (words == NNCC_DSP_FOURS) {
        int32_t v[2];

        NNCC_DSP_LOAD_BOTH(w, v[0], v[1]);
        for (int32_t k = 0; k < 2; k++) {
            s->d0 = NNCC_SMLAD(in[k], v[k], s->d0);
            v[k] &= 0x0fff0fff;
            s->c0 = NNCC_SMLAD(in[k], v[k], s->c0);
            v[k] &= 0x00ff00ff;
            s->b0 = NNCC_SMLAD(in[k], v[k], s->b0);
            v[k] &= 0x000f000f;
            s->a0 = NNCC_SMLAD(in[k], v[k], s->a0);
        }
        return;
    }
    for (int32_t k = 0; k < 2; k++) {
        const int32_t *const from = w + pitch * k;

        if (words == NNCC_DSP_NARROW) {
            int32_t u, v;

            NNCC_DSP_LOAD_BOTH(from, u, v);
            s->b0 = NNCC_SMLAD(in[k], u, s->b0);
            s->d0 = NNCC_SMLAD(in[k], v, s->d0);
            s->a0 = NNCC_SMLAD(in[k], nncc_dsp_even(u), s->a0);
            s->c0 = NNCC_SMLAD(in[k], nncc_dsp_even(v), s->c0);
        } else {
            s->a0 = NNCC_SMLAD(in[k], from[0], s->a0);
            s->b0 = NNCC_SMLAD(in[k], from[1], s->b0);
            s->c0 = NNCC_SMLAD(in[k], from[2], s->c0);
            s->d0 = NNCC_SMLAD(in[k], from[3], s->d0);
        }
    }
}

#define NNCC_DSP_FOUR_PAIRS(k) \
    do { \
        nncc_dsp_two_pairs_of(s, words, words, x + (k), w + words * (k)); \
        nncc_dsp_two_pairs_of(s, words, words, x + (k) + 2, w + words * ((k) + 2)); \
    } while (0)

/* The sums of the pairs of one pixel, a multiple of 4, times weights: the words behind those. */
NNCC_INLINED const int32_t *nncc_dsp_row_of(nncc_dsp_sums *s, int32_t words, int32_t pairs, const int32_t *x,
                                            const int32_t *start, const int32_t *w, int32_t part)
{
    const int32_t *const whole = x + (pairs & 12), *const end = x + pairs;

    NNCC_DSP_START(0, part);
    while (x != whole) {
        NNCC_DSP_FOUR_PAIRS(0);
        x += 4;
        w += 4 * words;
    }
    while (x != end) {
        NNCC_DSP_FOUR_PAIRS(0);
        NNCC_DSP_FOUR_PAIRS(4);
        NNCC_DSP_FOUR_PAIRS(8);
        NNCC_DSP_FOUR_PAIRS(12);
        x += 16;
        w += 16 * words;
    }
    return w;
}

#define NNCC_DSP_PAIR(k) nncc_dsp_pair_of(s, words, x + 2 * (k), w + words * (k))

/* ROUND(0) to ROUND(3), x and w read from rounds of so many words on: count rounds, what is missing to fours first. */
#define NNCC_DSP_ROUNDS(count, x, x_words, w, w_words, ROUND) \
    do { \
        const int32_t *volatile const last = (x) + (x_words) * (count); \
\
        for (int32_t single = (count)&3; single > 0; single--) { \
            ROUND(0); \
            x += (x_words); \
            w += (w_words); \
        } \
        while (x != last) { \
            ROUND(0); \
            ROUND(1); \
            ROUND(2); \
            ROUND(3); \
            x += 4 * (x_words); \
            w += 4 * (w_words); \
        } \
    } while (0)

/* The sums of so many pairs of two pixels, at least 1, times weights: the words behind those. */
NNCC_INLINED const int32_t *nncc_dsp_pairs_of(nncc_dsp_sums *s, int32_t words, int32_t pairs, const int32_t *x,
                                              const int32_t *start, const int32_t *w, int32_t part0, int32_t part1)
{
    NNCC_DSP_START(0, part0);
    NNCC_DSP_START(1, part1);
    NNCC_DSP_ROUNDS(pairs, x, 2, w, words, NNCC_DSP_PAIR);
    return w;
}

/* Twice the sum of a channel from what the products give: those of the channel below are in it. */
#define NNCC_DSP_ABOVE(sum, below, down) \
    do { \
        s.sum##0 = NNCC_DSP_LESS(s.sum##0, s.below##0) >> (down); \
        if (pixels == 2) { \
            s.sum##1 = NNCC_DSP_LESS(s.sum##1, s.below##1) >> (down); \
        } \
    } while (0)
/* The sums of the lowest channel, scaled by {m, c, s}; the sign is that of what is not yet twice: one ADD. */
#define NNCC_DSP_LOWEST_ONE(sum) (sum) = nncc_dsp_rounded((int32_t)((uint32_t)(sum) << 1), m, c + ((sum) >> 31), down)
#define NNCC_DSP_LOWEST_SCALED(sum, mcs) \
    do { \
        const int32_t m = (mcs)[0], c = (mcs)[1], down = (mcs)[2]; \
\
        NNCC_DSP_LOWEST_ONE(s.sum##0); \
        if (pixels == 2) { \
            NNCC_DSP_LOWEST_ONE(s.sum##1); \
        } \
    } while (0)
/* The sums of a channel, scaled by {m, c, s}. */
#define NNCC_DSP_SCALED(sum, mcs) \
    do { \
        const int32_t m = (mcs)[0], c = (mcs)[1], down = (mcs)[2]; \
\
        s.sum##0 = nncc_dsp_scaled(s.sum##0, m, c, down); \
        if (pixels == 2) { \
            s.sum##1 = nncc_dsp_scaled(s.sum##1, m, c, down); \
        } \
    } while (0)
/* Four channels of narrow weights: their sums apart and scaled. */
#define NNCC_DSP_NARROW_SCALED(mcs) \
    do { \
        NNCC_DSP_ABOVE(d, c, 7); \
        NNCC_DSP_SCALED(d, (mcs) + 9); \
        NNCC_DSP_LOWEST_SCALED(c, (mcs) + 6); \
        NNCC_DSP_ABOVE(b, a, 7); \
        NNCC_DSP_SCALED(b, (mcs) + 3); \
        NNCC_DSP_LOWEST_SCALED(a, mcs); \
    } while (0)

/* Four bytes, clamped or from the table. */
NNCC_INLINED void nncc_dsp_put(int32_t table, const uint8_t *t, uint32_t bias, uint32_t cap, uint32_t v, int8_t *y)
{
    if (table != 0) {
        y[0] = (int8_t)t[v & 255u];
        y[1] = (int8_t)t[(v >> 8) & 255u];
        y[2] = (int8_t)t[(v >> 16) & 255u];
        y[3] = (int8_t)t[v >> 24];
    } else {
        nncc_dsp_store4(y, nncc_dsp_clamped(v, bias, cap));
    }
}

/*
 * The matrix products: x [pairs][pixels]; pixels, words, moves and table are constants. With moves (not with weights of
 * 4 bits) a word in front of the weights of a group says how many bytes x moves on.
 */
NNCC_INLINED void nncc_dsp_products(const nncc_dsp_matmul_params *p, const void *words_of_x, int32_t pixels,
                                    int32_t words, int32_t moves, int32_t table, const int32_t *w, int8_t *y)
{
    const int32_t *inputs = words_of_x;
    const uint8_t *volatile const t_at = table != 0 ? p->table : NULL;
    const uint32_t cap = p->cap, bias = nncc_dsp_bias(p->low, cap);
    const int32_t pairs = p->pairs, y_step = p->y_step;
    int32_t part0 = 0, part1 = 0;

    if (words == NNCC_DSP_FOURS) {
        const int32_t *const end = inputs + pixels * pairs;

        for (const int32_t *x = inputs; x != end; x += pixels) {
            part0 = NNCC_SMLAD(x[0], 0x00080008, part0);
            if (pixels == 2) {
                part1 = NNCC_SMLAD(x[1], 0x00080008, part1);
            }
        }
    }
    for (int32_t g = p->groups; g > 0; g--) {
        nncc_dsp_sums s;

        inputs += moves != 0 ? w[4] / 4 : 0;
        w = pixels == 2 ? nncc_dsp_pairs_of(&s, words, pairs, inputs, w, w + 4 + moves, part0, part1)
                        : nncc_dsp_row_of(&s, words, pairs, inputs, w, w + 4, part0);
        if (words == NNCC_DSP_NARROW) {
            NNCC_DSP_NARROW_SCALED(w);
        } else if (words == NNCC_DSP_FOURS) {
            NNCC_DSP_ABOVE(d, c, 11);
            NNCC_DSP_SCALED(d, w + 9);
            NNCC_DSP_ABOVE(c, b, 7);
            NNCC_DSP_SCALED(c, w + 6);
            NNCC_DSP_ABOVE(b, a, 3);
            NNCC_DSP_SCALED(b, w + 3);
            NNCC_DSP_LOWEST_SCALED(a, w);
        } else {
            NNCC_DSP_SCALED(d, w + 9);
            NNCC_DSP_SCALED(c, w + 6);
            NNCC_DSP_SCALED(b, w + 3);
            NNCC_DSP_SCALED(a, w);
        }
        w += 12;
        if (pixels == 2) {
            nncc_dsp_put(table, table != 0 ? t_at : NULL, bias, cap, nncc_dsp_bytes(s.a1, s.b1, s.c1, s.d1),
                         y + y_step);
        }
        nncc_dsp_put(table, table != 0 ? t_at : NULL, bias, cap, nncc_dsp_bytes(s.a0, s.b0, s.c0, s.d0), y);
        y += 4;
    }
}
