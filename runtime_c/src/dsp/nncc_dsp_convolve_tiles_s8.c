/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_convolve_tiles_s8: two tiles of 2x2 outputs beside each other by Winograd's F(2x2, 3x3), exact in integers.
 *
 * For each channel 16 products do the work of 36. Inputs d become B'dB, weights (at compile time) 4 GgG', so that what
 * A'mA makes of the products' sums m is four times the sum. Both fit int16: inputs reach 4 * 128, weights 9 * 128.
 */
#include "nncc_dsp_core.h"
#include "nncc_simd32.h"

#define NNCC_TILE_COLUMNS 6 /* that two tiles read */

/* Where the inputs of both tiles are: rows of columns; what lies outside of the image is at pad. */
static void tile_find(const nncc_dsp_convolve_params *p, const int8_t *x, const int8_t *pad, int32_t row, int32_t col,
                      const int8_t **at)
{
    const int32_t whole = col >= 0 && col + NNCC_TILE_COLUMNS <= p->in_w;

    for (int32_t i = 0; i < 4; i++, row++) {
        const int32_t inside = row >= 0 && row < p->in_h;
        const int8_t *from = x + (row * p->in_w + col) * p->in_pitch;

        for (int32_t k = 0; k < NNCC_TILE_COLUMNS; k++) {
            *at++ = inside && (whole || (col + k >= 0 && col + k < p->in_w)) ? from : pad;
            from += p->in_pitch;
        }
    }
}

/* B'dB of two channels in each word: t are the rows already transformed, v takes [16][pairs][2 tiles]. */
static inline void tile_across(const uint32_t *t, int32_t step, uint32_t *v)
{
    for (int32_t i = 0; i < 4; i++, t += NNCC_TILE_COLUMNS) {
        const uint32_t a = t[0], b = t[1], c = t[2], d = t[3], e = t[4], f = t[5];

        v[0] = nncc_sub16(a, c);
        v[1] = nncc_sub16(c, e);
        v += step;
        v[0] = nncc_add16(b, c);
        v[1] = nncc_add16(d, e);
        v += step;
        v[0] = nncc_sub16(c, b);
        v[1] = nncc_sub16(e, d);
        v += step;
        v[0] = nncc_sub16(b, d);
        v[1] = nncc_sub16(d, f);
        v += step;
    }
}

static inline void tile_down(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t *t)
{
    t[0] = nncc_sub16(a, c);
    t[NNCC_TILE_COLUMNS] = nncc_add16(b, c);
    t[2 * NNCC_TILE_COLUMNS] = nncc_sub16(c, b);
    t[3 * NNCC_TILE_COLUMNS] = nncc_sub16(b, d);
}

/* The inputs of both tiles, four channels at a time. */
static void tile_transform(const int8_t *const *at, int32_t channels, uint32_t *v)
{
    uint32_t t[2][4 * NNCC_TILE_COLUMNS];

    for (int32_t c = 0; c < channels; c += 4) {
        for (int32_t k = 0; k < NNCC_TILE_COLUMNS; k++) {
            const uint32_t d0 = (uint32_t)nncc_dsp_load4(at[k] + c);
            const uint32_t d1 = (uint32_t)nncc_dsp_load4(at[NNCC_TILE_COLUMNS + k] + c);
            const uint32_t d2 = (uint32_t)nncc_dsp_load4(at[2 * NNCC_TILE_COLUMNS + k] + c);
            const uint32_t d3 = (uint32_t)nncc_dsp_load4(at[3 * NNCC_TILE_COLUMNS + k] + c);

            tile_down(nncc_even_bytes(d0), nncc_even_bytes(d1), nncc_even_bytes(d2), nncc_even_bytes(d3), &t[0][k]);
            tile_down(nncc_odd_bytes(d0), nncc_odd_bytes(d1), nncc_odd_bytes(d2), nncc_odd_bytes(d3), &t[1][k]);
        }
        tile_across(t[0], channels, v);
        tile_across(t[1], channels, v + 2);
        v += 4;
    }
}

/*
 * The sums of the products: x [16][pairs][2 tiles], w [16][pairs][4 channels] words of two int16, m [16][4 channels][2
 * tiles]; pairs is even. The first one of the 16 starts the sums.
 */
#if NNCC_DSP_ASM

#define NNCC_TILE_PAIR(mac, C) \
    "ldrd r10, r11, [r0], #8\n" \
    "ldrd r12, lr, [r1], #8\n" mac " r2, r10, r12" C("r2") mac " r3, r11, r12" C("r3") mac " r4, r10, lr" C("r4") mac \
        " r5, r11, lr" C("r5") "ldrd r12, lr, [r1], #8\n" mac " r6, r10, r12" C("r6") mac " r7, r11, r12" C("r7") mac \
        " r8, r10, lr" C("r8") mac " r9, r11, lr" C("r9")
#define NNCC_TILE_FIRST(a) "\n"
#define NNCC_TILE_NEXT(a) ", " a "\n"

/* Stack: 0 end of x at this place of the 16, 4 m, 8 bytes of x at a place, 12 end of x, 16 entry. */
NNCC_DSP_NAKED static void tile_products(NNCC_DSP_ARG const int32_t *x, NNCC_DSP_ARG const int32_t *w,
                                         NNCC_DSP_ARG int32_t *m, NNCC_DSP_ARG int32_t pairs)
{
    __asm volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, #20\n"
        "lsl r4, r3, #3\n"
        "add r5, r0, r4\n"
        "strd r5, r2, [sp]\n"
        "add r6, r0, r4, lsl #4\n"
        "strd r4, r6, [sp, #8]\n"
        "rsb r6, r3, #1\n"
        "and r6, r6, #7\n"
        "movs r7, #44\n"
        "adr r8, 2f\n"
        "mla r6, r6, r7, r8\n"
        "orr r6, r6, #1\n"
        "str r6, [sp, #16]\n"
        "1:\n" NNCC_TILE_PAIR("smuad", NNCC_TILE_FIRST) "ldr r10, [sp, #16]\n"
                                                        "bx r10\n"
                                                        ".p2align 2\n"
                                                        "2:\n"
                                                        ".rept 8\n" NNCC_TILE_PAIR(
                                                            "smlad", NNCC_TILE_NEXT) ".endr\n"
                                                                                     "ldr r10, [sp]\n"
                                                                                     "cmp r0, r10\n"
                                                                                     "bne.w 2b\n"
                                                                                     "ldrd r12, r11, [sp, #4]\n"
                                                                                     "stm r12!, {r2-r9}\n"
                                                                                     "add r10, r10, r11\n"
                                                                                     "strd r10, r12, [sp]\n"
                                                                                     "ldr lr, [sp, #12]\n"
                                                                                     "cmp r0, lr\n"
                                                                                     "bne.w 1b\n"
                                                                                     "add sp, #20\n"
                                                                                     "pop {r4-r11, pc}\n");
}

#else

NNCC_DSP_AS_WRITTEN NNCC_APART static void tile_products(const int32_t *x, const int32_t *w, int32_t *m, int32_t pairs)
{
    const int32_t zeros[4] = {0, 0, 0, 0}, *const end = m + 16 * 8;

    do {
        nncc_dsp_sums s;

        w = nncc_dsp_pairs_of(&s, NNCC_DSP_WIDE, pairs, x, zeros, w, 0, 0);
        x += 2 * pairs;
        m[0] = s.a0;
        m[1] = s.a1;
        m[2] = s.b0;
        m[3] = s.b1;
        m[4] = s.c0;
        m[5] = s.c1;
        m[6] = s.d0;
        m[7] = s.d1;
        m += 8;
    } while (m != end);
}

#endif

/* A sum of four times a value, a multiple of four, scaled: an output that is not clamped yet. */
static inline int32_t tile_scale(uint32_t four_times, int32_t m, int32_t c, int32_t s)
{
#if NNCC_DSP_ASM
    int32_t v, t;

    __asm("asr %0, %2, #1\n add %1, %4, %2, asr #31\n smmlar %0, %0, %3, %1\n asr %0, %0, %5\n"
          : "=&r"(v), "=&r"(t)
          : "r"(four_times), "r"(m), "r"(c), "r"(s));
    return v;
#else
    return nncc_dsp_scaled((int32_t)four_times >> 1, m, c, s);
#endif
}

/* Four outputs clamped: bytes 0, 2, 1 and 3. */
static inline int32_t tile_clamp(const nncc_dsp_convolve_params *p, int32_t v0, int32_t v1, int32_t v2, int32_t v3)
{
#if NNCC_DSP_ASM
    __asm("pkhbt %0, %0, %2, lsl #16\n pkhbt %1, %1, %3, lsl #16\n usat16 %0, #8, %0\n usat16 %1, #8, %1\n"
          "orr %0, %0, %1, lsl #8\n uqadd8 %0, %0, %4\n uqsub8 %0, %0, %4\n uadd8 %0, %0, %5\n"
          : "+&r"(v0), "+&r"(v2)
          : "r"(v1), "r"(v3), "r"(p->cap), "r"(p->low));
    return v0;
#else
    return (int32_t)nncc_dsp_clamped(nncc_dsp_bytes(v0, v2, v1, v3), nncc_dsp_bias(p->low, p->cap), p->cap);
#endif
}

/* A row of a channel's sums of products becomes two. */
typedef struct
{
    uint32_t left, right;
} tile_row;

static inline tile_row tile_sums(const int32_t *m, uint32_t start)
{
    const uint32_t k1 = (uint32_t)m[8] + start, k2 = (uint32_t)m[16];
    const tile_row r = {(uint32_t)m[0] + k1 + k2, k1 - k2 - (uint32_t)m[24]};

    return r;
}

/* A'mA of a channel of a tile; the start value goes where all four outputs take it from. */
static inline void tile_outputs(const nncc_dsp_convolve_params *p, const int32_t *m, const int32_t *mcs, uint32_t start,
                                int8_t *const *y, int32_t channel)
{
    const tile_row a = tile_sums(m, 0), b = tile_sums(m + 32, start), c = tile_sums(m + 64, 0);
    const tile_row d = tile_sums(m + 96, 0);
    const int32_t m0 = mcs[0], c0 = mcs[1], s0 = mcs[2];
    const int32_t v = tile_clamp(
        p, tile_scale(a.left + b.left + c.left, m0, c0, s0), tile_scale(a.right + b.right + c.right, m0, c0, s0),
        tile_scale(b.left - c.left - d.left, m0, c0, s0), tile_scale(b.right - c.right - d.right, m0, c0, s0));

    y[5][channel] = nncc_dsp_byte(v >> 24);
    y[4][channel] = nncc_dsp_byte(v >> 8);
    y[1][channel] = nncc_dsp_byte(v >> 16);
    y[0][channel] = nncc_dsp_byte(v);
}

void nncc_dsp_convolve_tiles_s8(const nncc_dsp_convolve_params *p, const nncc_dsp_tiles *t, const int8_t *x,
                                const int32_t *w, int8_t *y, int32_t *scratch)
{
    int32_t *const m = scratch + 16 * p->in_c;
    const int32_t pairs = p->in_c >> 1;
    const int8_t *at[4 * NNCC_TILE_COLUMNS];
    int8_t *to[8];
    int32_t lanes = (p->out_c & 3) != 0 ? p->out_c & 3 : 4;

    /* What is not wanted is stored first, to where another output comes. */
    for (int32_t k = 0; k < 8; k++) {
        const int32_t r = k >> 2 < t->rows ? k >> 2 : t->rows - 1, c = (k & 3) < t->cols ? k & 3 : t->cols - 1;

        to[k] = y + r * t->y_row + c * t->y_pitch;
    }
    tile_find(p, x, (const int8_t *)(m + 128), t->row, t->col, at);
    tile_transform(at, p->in_c, (uint32_t *)scratch);
    for (int32_t c = 0; c < p->out_c; c += lanes, lanes = 4) {
        const int32_t *const start = w + 64 * pairs;

        tile_products(scratch, w, m, pairs);
        for (int32_t k = 0; k < lanes; k++) {
            tile_outputs(p, m + 2 * k + 1, start + 4 + 3 * k, (uint32_t)start[k], to + 2, c + k);
            tile_outputs(p, m + 2 * k, start + 4 + 3 * k, (uint32_t)start[k], to, c + k);
        }
        w += p->group_words;
    }
}
