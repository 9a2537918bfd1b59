/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_3x3_s8: two lines of inputs become words of both, 256 times as large, four channels at a time,
 * once; the kernels of output lines take them from there. Padding is written into the words.
 */
#include "nncc_dsp_interleave.h"

/* A pixel of two lines: a is the upper one, b the lower one; bytes of odd channels are where they belong. */
/* clang-format off */
#define NNCC_PACK(load) \
    load \
    "pkhbt %[c], %[a], %[b], lsl #16\n" \
    "pkhtb %[b], %[b], %[a], asr #16\n" \
    "and %[a], %[m], %[b], lsl #8\n" \
    "str %[a], [%[to], #16]\n" \
    "and %[b], %[b], %[m]\n" \
    "str %[b], [%[to], #24]\n" \
    "and %[a], %[c], %[m]\n" \
    "str %[a], [%[to], #8]\n" \
    "and %[c], %[m], %[c], lsl #8\n" \
    "str %[c], [%[to]], #32\n"
#define NNCC_LOAD \
    "ldr %[a], [%[u]]\n" \
    "ldr %[b], [%[l]]\n" \
    "add %[u], %[u], %[us]\n" \
    "add %[l], %[l], %[ls]\n"
/* The lower pixel is l bytes behind the upper one, as in every pixel. */
#define NNCC_LOAD_BOTH \
    "ldr %[a], [%[u]]\n" \
    "ldr %[b], [%[u], %[l]]\n" \
    "add %[u], %[u], %[us]\n"
#define NNCC_PACKS(load) \
    "lsls %[c], %[n], #31\n" \
    "bne 2f\n" \
    "1:\n" \
    NNCC_PACK(load) \
    "2:\n" \
    NNCC_PACK(load) \
    "subs %[n], %[n], #2\n" \
    "bgt 1b\n"
/* clang-format on */

/* Words of the pixels [0, count) of two lines: four channels, 8 words a pixel. The steps may be 0. */
NNCC_INTERLEAVING static void interleave(const int8_t *upper, int32_t upper_step, const int8_t *lower,
                                         int32_t lower_step, int32_t count, int32_t *to)
{
    if (count <= 0) {
        return;
    }
#if NNCC_DSP_ASM
    int32_t a, b, c;

    if (upper_step == lower_step) {
        int32_t apart = (int32_t)((uintptr_t)lower - (uintptr_t)upper);

        __asm volatile(NNCC_PACKS(NNCC_LOAD_BOTH)
                       : [u] "+r"(upper), [to] "+r"(to), [n] "+r"(count), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
                       : [l] "r"(apart), [us] "r"(upper_step), [m] "r"(0xff00ff00u)
                       : "memory", "cc");
        return;
    }
    __asm volatile(
        NNCC_PACKS(NNCC_LOAD)
        : [u] "+r"(upper), [l] "+r"(lower), [to] "+r"(to), [n] "+r"(count), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
        : [us] "r"(upper_step), [ls] "r"(lower_step), [m] "r"(0xff00ff00u)
        : "memory", "cc");
#else
    nncc_dsp_interleave(upper, upper_step, lower, lower_step, count, 2, to);
#endif
}

/* Padding in the pixels [from, to) of all lines. */
static void pad_pixels(int32_t *x, int32_t from, int32_t to, int32_t word)
{
    for (int32_t i = 8 * from; i < 8 * to; i++) {
        x[i] = word;
    }
}

/* Where a strip of lines is read: pixels of four channels from x on, count of them, and words from to on. */
typedef struct
{
    const int8_t *x, *pad;
    int32_t count;
    int32_t *to;
} strip;

/* The words of lines i and i + 1, the first ones (slot 0) or the second ones. */
static void pair_lines(const nncc_dsp_depthwise_3x3_params *p, const strip *s, int32_t i, int32_t slot)
{
    const int8_t *upper = s->pad, *lower = s->pad; /* padding repeats itself */
    int32_t upper_step = 0, lower_step = 0;

    if ((uint32_t)i < (uint32_t)p->in_lines) {
        upper = s->x + i * p->line;
        upper_step = p->pixel;
    }
    if ((uint32_t)(i + 1) < (uint32_t)p->in_lines) {
        lower = s->x + (i + 1) * p->line;
        lower_step = p->pixel;
    }
    interleave(upper, upper_step, lower, lower_step, s->count, s->to + slot);
}

/* The outputs of a strip; those of an edge first. */
static void multiply_lines(const nncc_dsp_depthwise_3x3_params *p, nncc_dsp_depthwise_3x3_row_params *r,
                           nncc_dsp_depthwise_3x3_row_fn *even, nncc_dsp_depthwise_3x3_row_fn *odd,
                           nncc_dsp_depthwise_3x3_row_fn *edge, const strip *s, const int32_t *words, const int32_t *w,
                           int8_t *y)
{
    const int32_t lines = 3 - p->stride; /* of outputs of two pairs of lines */
    nncc_dsp_depthwise_3x3_row_fn *rows = even, *others = odd;
    int32_t line = -p->pad_lines, left = p->out_lines, slot = 1;

    r->down = p->out_line;
    if (edge != NULL) {
        line++;
    }
    pair_lines(p, s, line, 0);
    if (edge != NULL) {
        edge(r, words, w, y);
        y += p->out_line;
        left--;
    }
    while (left > 0) {
        nncc_dsp_depthwise_3x3_row_fn *const now = rows;

        line += 2;
        pair_lines(p, s, line, slot);
        if (left == 1) {
            r->down = 0;
        }
        now(r, words, w, y);
        rows = others;
        others = now;
        slot = 1 - slot;
        y += lines * p->out_line;
        left -= lines;
    }
}

void nncc_dsp_depthwise_3x3_s8(const nncc_dsp_depthwise_3x3_params *p, nncc_dsp_depthwise_3x3_row_fn *even,
                               nncc_dsp_depthwise_3x3_row_fn *odd, nncc_dsp_depthwise_3x3_row_fn *edge, const int8_t *x,
                               const int32_t *w, int8_t *y, int32_t *scratch)
{
    const int32_t pad_word = nncc_dsp_pair(256 * p->pad, 256 * p->pad);
    int8_t pad[4];

    memset(pad, p->pad, sizeof pad);
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t at = 0; at < p->out_pixels; at += p->strip) {
            const int32_t rest = p->out_pixels - at, outputs = rest < p->strip ? rest : p->strip;
            const int32_t columns = p->stride * (outputs - 1) + 3, first = p->stride * at - p->pad_pixels;
            const int32_t begin = first >= 0 ? 0 : -first < columns ? -first : columns;
            const int32_t end = p->in_pixels - first < columns ? p->in_pixels - first : columns;
            nncc_dsp_depthwise_3x3_row_params r = {outputs, p->out_pixel, 0};
            const int32_t *weights = w;
            strip s = {NULL, pad, end - begin, scratch + 8 * begin};

            pad_pixels(scratch, 0, begin, pad_word);
            pad_pixels(scratch, end, columns, pad_word);
            for (int32_t c = 0; c < p->channels; c += 4) {
                const int32_t from = nncc_dsp_group(c, p->channels);

                s.x = x + (first + begin) * p->pixel + from;
                multiply_lines(p, &r, even, odd, edge, &s, scratch, weights, y + at * p->out_pixel + from);
                weights += p->group_words;
            }
        }
        if (p->cap != 0) {
            nncc_dsp_clamp_s8(p->out_lines * p->out_pixels * p->channels, p->low, p->cap, y);
        }
        x += p->in_lines * p->in_pixels * p->channels;
        y += p->out_lines * p->out_pixels * p->channels;
    }
}
