/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_acle.h: the DSP extension by intrinsics, and the matrix products with them. GCC 12 has no pattern for PKHBT
 * and SMMLAR and no rotation in SXTB16: an instruction more each.
 */
#ifndef NNCC_DSP_ACLE_H
#define NNCC_DSP_ACLE_H

#include <arm_acle.h>

/* Bytes 0 and 2, and bytes 1 and 3, as two int16. */
static inline int32_t nncc_dsp_even(int32_t w)
{
    return (int32_t)__sxtb16((int8x4_t)w);
}

static inline int32_t nncc_dsp_odd(int32_t w)
{
    const uint32_t u = (uint32_t)w;

    return (int32_t)__sxtb16((int8x4_t)((u >> 8) | (u << 24)));
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

/* nncc_dsp_scale with the sign correction, as SMMLAR or SMLAL. */
static inline int32_t nncc_dsp_scaled(int32_t twice, int32_t m, int32_t c, int32_t s)
{
    const int64_t from = (int64_t)(((uint64_t)(uint32_t)(c + (twice >> 31)) << 32) | 0x80000000u);

    return (int32_t)((from + (int64_t)twice * m) >> 32) >> s;
}

/* Limited to 0 to 255. GCC's __usat16 does not compile with -Wsign-conversion. */
static inline uint32_t nncc_dsp_byte_of(int32_t v)
{
    return (uint32_t)__usat(v, 8);
}

/* Four outputs as bytes, 0 to 255. */
static inline uint32_t nncc_dsp_bytes(int32_t a, int32_t b, int32_t c, int32_t d)
{
    return nncc_dsp_byte_of(a) | (nncc_dsp_byte_of(b) << 8) | (nncc_dsp_byte_of(c) << 16) | (nncc_dsp_byte_of(d) << 24);
}

/* nncc_dsp_clamp of four bytes. */
static inline uint32_t nncc_dsp_clamped(uint32_t v, uint32_t low, uint32_t cap)
{
    return __uadd8(__uqsub8(__uqadd8(v, cap), cap), low);
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

#define NNCC_DSP_MAC(sum, w) \
    do { \
        s->sum##0 = __smlad(x0, w, s->sum##0); \
        if (pixels == 2) { \
            s->sum##1 = __smlad(x1, w, s->sum##1); \
        } \
    } while (0)

/* Adds a pair of inputs times the weights of four channels. */
NNCC_INLINED void nncc_dsp_pair_of(nncc_dsp_sums *s, int32_t pixels, int32_t words, const int32_t *x, const int32_t *w)
{
    const int32_t x0 = x[0], x1 = pixels == 2 ? x[1] : 0;

    if (words == NNCC_DSP_NARROW) {
        const int32_t w0 = w[0], w1 = w[1];

        NNCC_DSP_MAC(b, w0);
        NNCC_DSP_MAC(a, nncc_dsp_even(w0));
        NNCC_DSP_MAC(d, w1);
        NNCC_DSP_MAC(c, nncc_dsp_even(w1));
    } else if (words == NNCC_DSP_WIDE) {
        NNCC_DSP_MAC(a, w[0]);
        NNCC_DSP_MAC(b, w[1]);
        NNCC_DSP_MAC(c, w[2]);
        NNCC_DSP_MAC(d, w[3]);
    } else {
        const int32_t w0 = w[0];

        NNCC_DSP_MAC(d, w0);
        NNCC_DSP_MAC(c, w0 & 0x0fff0fff);
        NNCC_DSP_MAC(b, w0 & 0x00ff00ff);
        NNCC_DSP_MAC(a, w0 & 0x000f000f);
    }
}

/* Twice the sums of a pixel from what the products give: sums of channels have those of the channels below added. */
#define NNCC_DSP_TWICE(px) \
    do { \
        if (words == NNCC_DSP_NARROW) { \
            s.b##px = (s.b##px - s.a##px) >> 7; \
            s.a##px = (int32_t)((uint32_t)s.a##px << 1); \
            s.d##px = (s.d##px - s.c##px) >> 7; \
            s.c##px = (int32_t)((uint32_t)s.c##px << 1); \
        } else if (words == NNCC_DSP_FOURS) { \
            s.d##px = (s.d##px - s.c##px) >> 11; \
            s.c##px = (s.c##px - s.b##px) >> 7; \
            s.b##px = (s.b##px - s.a##px) >> 3; \
            s.a##px = (int32_t)((uint32_t)s.a##px << 1); \
        } \
    } while (0)
/* The start values of a pixel; weights of 4 bits are 8 too large in three channels: part is 8 times the inputs' sum. */
#define NNCC_DSP_START(px, part) \
    do { \
        s.a##px = w[0] - (part); \
        s.b##px = w[1] - 17 * (part); \
        s.c##px = w[2] - 273 * (part); \
        s.d##px = w[3] - 273 * (part); \
    } while (0)
#define NNCC_DSP_SCALED(px) \
    nncc_dsp_bytes(nncc_dsp_scaled(s.a##px, mcs[0], mcs[1], mcs[2]), nncc_dsp_scaled(s.b##px, mcs[3], mcs[4], mcs[5]), \
                   nncc_dsp_scaled(s.c##px, mcs[6], mcs[7], mcs[8]), \
                   nncc_dsp_scaled(s.d##px, mcs[9], mcs[10], mcs[11]))

/* Four bytes, clamped or from the table. */
static inline void nncc_dsp_put(const nncc_dsp_matmul_params *p, uint32_t v, int8_t *y)
{
    if (p->table != NULL) {
        const uint8_t *const t = p->table;

        y[0] = (int8_t)t[v & 255u];
        y[1] = (int8_t)t[(v >> 8) & 255u];
        y[2] = (int8_t)t[(v >> 16) & 255u];
        y[3] = (int8_t)t[v >> 24];
    } else {
        v = nncc_dsp_clamped(v, p->low, p->cap);
        memcpy(y, &v, sizeof v);
    }
}

/*
 * The matrix products: x [pairs][pixels]; pixels, words and moves are constants. With moves (not with weights of 4
 * bits) a word in front of the weights of a group says how many bytes x moves on.
 */
NNCC_INLINED void nncc_dsp_moving_products(const nncc_dsp_matmul_params *p, const void *words_of_x, int32_t pixels,
                                           int32_t words, int32_t moves, const int32_t *w, int8_t *y)
{
    const int32_t *inputs = words_of_x, *end = inputs + pixels * p->pairs;
    int32_t part0 = 0, part1 = 0;

    if (words == NNCC_DSP_FOURS) {
        for (const int32_t *x = inputs; x != end; x += pixels) {
            part0 = __smlad(x[0], 0x00080008, part0);
            if (pixels == 2) {
                part1 = __smlad(x[1], 0x00080008, part1);
            }
        }
    }
    for (int32_t g = p->groups; g > 0; g--) {
        const int32_t *mcs = w + 4 + moves;
        const int32_t *x;
        nncc_dsp_sums s;

        inputs += moves != 0 ? w[4] / 4 : 0;
        end = inputs + pixels * p->pairs;
        x = inputs;

        NNCC_DSP_START(0, part0);
        NNCC_DSP_START(1, part1);
        w = mcs;
        for (int32_t k = p->pairs & 3; k > 0; k--) {
            nncc_dsp_pair_of(&s, pixels, words, x, w);
            x += pixels;
            w += words;
        }
        while (x != end) {
            nncc_dsp_pair_of(&s, pixels, words, x, w);
            nncc_dsp_pair_of(&s, pixels, words, x + pixels, w + words);
            nncc_dsp_pair_of(&s, pixels, words, x + 2 * pixels, w + 2 * words);
            nncc_dsp_pair_of(&s, pixels, words, x + 3 * pixels, w + 3 * words);
            x += 4 * pixels;
            w += 4 * words;
        }
        mcs = w;
        w += 12;
        NNCC_DSP_TWICE(0);
        nncc_dsp_put(p, NNCC_DSP_SCALED(0), y);
        if (pixels == 2) {
            NNCC_DSP_TWICE(1);
            nncc_dsp_put(p, NNCC_DSP_SCALED(1), y + p->y_step);
        }
        y += 4;
    }
}

NNCC_INLINED void nncc_dsp_products(const nncc_dsp_matmul_params *p, const void *words_of_x, int32_t pixels,
                                    int32_t words, const int32_t *w, int8_t *y)
{
    nncc_dsp_moving_products(p, words_of_x, pixels, words, 0, w, y);
}

#endif /* NNCC_DSP_ACLE_H */
