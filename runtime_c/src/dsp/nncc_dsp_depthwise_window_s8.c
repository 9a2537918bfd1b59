/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_window_s8: four channels at a time, the rows under two rows of outputs become words of two rows in
 * the order [channel][column][pair]: the window of an output is a run of words. A column of two rows and four channels
 * costs 17 instructions.
 */
#include "nncc_dsp_core.h"

/* Two rows of the image, whose pixels lie so many bytes apart, 0 outside. */
typedef struct
{
    const int8_t *upper;
    const int8_t *lower;
    int32_t upper_step;
    int32_t lower_step;
} nncc_dsp_two_rows;

/* Words of n columns of two rows, for so many channels that lie `plane` bytes apart. */
static void interleave_few(const nncc_dsp_two_rows *r, int32_t n, int32_t lanes, int32_t plane, int32_t pitch,
                           int32_t *words)
{
    const int8_t *u = r->upper, *l = r->lower;

    for (; n > 0; n--) {
        for (int32_t c = 0; c < lanes; c++) {
            words[c * (plane / 4)] = nncc_dsp_pair(u[c], l[c]);
        }
        u += r->upper_step;
        l += r->lower_step;
        words += pitch / 4;
    }
}

/* The same for four channels. */
static void interleave(const nncc_dsp_two_rows *r, int32_t n, int32_t plane, int32_t pitch, int32_t *words)
{
#if NNCC_DSP_ASM
    const int8_t *u = r->upper, *l = r->lower;
    int32_t *to = words;
    int32_t a, b, c;

    __asm volatile("1:\n"
                   "ldr %[a], [%[u]]\n ldr %[b], [%[l]]\n add %[u], %[u], %[us]\n add %[l], %[l], %[ls]\n"
                   "pkhbt %[c], %[a], %[b], lsl #16\n pkhtb %[b], %[b], %[a], asr #16\n"
                   "sxtb16 %[a], %[c]\n str %[a], [%[to]]\n sxtb16 %[c], %[c], ror #8\n str %[c], [%[to], %[p]]\n"
                   "sxtb16 %[a], %[b]\n str %[a], [%[to], %[p], lsl #1]\n sxtb16 %[b], %[b], ror #8\n"
                   "add %[a], %[to], %[p]\n str %[b], [%[a], %[p], lsl #1]\n add %[to], %[to], %[s]\n"
                   "subs %[n], %[n], #1\n bne 1b\n"
                   : [u] "+r"(u), [l] "+r"(l), [to] "+r"(to), [n] "+r"(n), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
                   : [us] "r"(r->upper_step), [ls] "r"(r->lower_step), [p] "r"(plane), [s] "r"(pitch)
                   : "memory", "cc");
#else
    const int8_t *u = r->upper, *l = r->lower;
    const int32_t apart = plane / 4;

    for (; n > 0; n--) {
        const int32_t a = nncc_dsp_load4(u), b = nncc_dsp_load4(l);
        const int32_t low = nncc_dsp_lows(a, b), high = nncc_dsp_highs(a, b);

        words[0] = nncc_dsp_even(low);
        words[apart] = nncc_dsp_odd(low);
        words[2 * apart] = nncc_dsp_even(high);
        words[3 * apart] = nncc_dsp_odd(high);
        u += r->upper_step;
        l += r->lower_step;
        words += pitch / 4;
    }
#endif
}

/* What two rows of outputs read of up to four channels. */
typedef struct
{
    const nncc_dsp_depthwise_window_params *p;
    const int8_t *image; /* the first of the four channels */
    const int8_t *outside;
    int32_t *words;
    int32_t first; /* row of the image, may be negative */
    int32_t ox;    /* columns of the output */
    int32_t count;
} nncc_dsp_part;

/* Row r of a part: its pixels from column ix on, `step` bytes apart. */
static const int8_t *row_of(const nncc_dsp_part *a, int32_t r, int32_t ix, int32_t *step)
{
    const nncc_dsp_depthwise_window_params *const p = a->p;
    const int32_t iy = a->first + r * p->dil_h;

    if (iy < 0 || iy >= p->in_h) {
        *step = 0;
        return a->outside;
    }
    *step = p->dil_w * p->in_c;
    return a->image + (iy * p->in_w + ix) * p->in_c;
}

/* Columns that lie dil_w apart stand side by side: window k of a residue is k steps behind its first one. */
static void bring(const nncc_dsp_part *a)
{
    const nncc_dsp_depthwise_window_params *const p = a->p;
    const int32_t left = p->pad_w - a->ox * p->stride_w; /* column of the part that is the image's first one */
    const int32_t need = (a->count - 1) * p->stride_w + (p->kernel_w - 1) * p->dil_w + 1;
    const int32_t end = left + p->in_w < need ? left + p->in_w : need;

    for (int32_t k = 0; k < p->dil_w; k++) {
        const int32_t skip = k < left ? (left - k + p->dil_w - 1) / p->dil_w : 0;
        const int32_t from = k + skip * p->dil_w;

        if (from < end) {
            const int32_t n = (end - from + p->dil_w - 1) / p->dil_w;
            int32_t *const to = a->words + (k * p->width + skip) * p->pairs;

            for (int32_t r = 0; r < p->pairs; r++) {
                nncc_dsp_two_rows t;

                t.upper = row_of(a, 2 * r, from - left, &t.upper_step);
                t.lower = row_of(a, 2 * r + 1, from - left, &t.lower_step);
                if (p->lanes == 4) {
                    interleave(&t, n, p->plane, 4 * p->pairs, to + r);
                } else { /* four bytes of the last pixel would leave the tensor */
                    interleave_few(&t, n, p->lanes, p->plane, 4 * p->pairs, to + r);
                }
            }
        }
    }
}

/* The outputs of a part, `line` bytes from a row to the next; y is the first one of the first channel. */
static void outputs(const nncc_dsp_part *a, nncc_dsp_depthwise_window_fn *fn, const int32_t *w, int32_t line, int8_t *y)
{
    const nncc_dsp_depthwise_window_params *const p = a->p;
    nncc_dsp_depthwise_window f;

    f.step = 4 * p->pairs * (p->stride_w * p->phases_w / p->dil_w);
    f.pixel = p->phases_w * p->channels;
    f.line = line;
    f.rounds = p->rounds;
    for (int32_t k = 0; k < p->phases_w && k < a->count; k++) {
        const int32_t column = k * p->stride_w;

        f.columns = (a->count - k + p->phases_w - 1) / p->phases_w;
        f.x = a->words + (column % p->dil_w * p->width + column / p->dil_w) * p->pairs;
        f.w = w;
        f.y = y + k * p->channels;
        for (int32_t c = 0; c < p->lanes; c++) {
            for (int32_t m = 0; m < p->times; m++) {
                fn(&f);
                f.w += 4 + 4 * p->rounds;
                f.y++;
            }
            f.x += p->plane / 4;
        }
    }
}

/* All rows of four channels of an image: y is their first output. */
static void four_channels(nncc_dsp_part *a, nncc_dsp_depthwise_window_fn *fn, const int32_t *w, int8_t *y)
{
    const nncc_dsp_depthwise_window_params *const p = a->p;
    const int32_t row = p->out_w * p->channels;

    for (int32_t k = 0; k < p->phases_h; k++) {
        for (int32_t oy = k; oy < p->out_h; oy += 2 * p->phases_h) {
            const int32_t line = oy + p->phases_h < p->out_h ? p->phases_h * row : 0;

            a->first = oy * p->stride_h - p->pad_h;
            for (a->ox = 0; a->ox < p->out_w; a->ox += p->span) {
                a->count = p->out_w - a->ox < p->span ? p->out_w - a->ox : p->span;
                if (p->span < p->out_w) {
                    nncc_dsp_fill(a->words, nncc_dsp_pair(p->pad, p->pad), p->lanes * p->plane);
                }
                bring(a);
                outputs(a, fn, w, line, y + oy * row + a->ox * p->channels);
            }
        }
    }
}

void nncc_dsp_depthwise_window_s8(const nncc_dsp_depthwise_window_params *p, nncc_dsp_depthwise_window_fn *fn,
                                  const int8_t *x, const int32_t *w, int8_t *y, int32_t *scratch)
{
    nncc_dsp_part a;

    a.p = p;
    a.outside = (const int8_t *)scratch;
    a.words = scratch + 1;
    memset(scratch, p->pad, 4);
    nncc_dsp_fill(a.words, nncc_dsp_pair(p->pad, p->pad), p->lanes * p->plane);
    for (int32_t n = 0; n < p->batches; n++) {
        const int32_t *weights = w;

        for (int32_t c = 0; c < p->in_c; c += 4) {
            const int32_t first = p->lanes < 4 ? 0 : nncc_dsp_group(c, p->in_c);

            a.image = x + first;
            four_channels(&a, fn, weights, y + first * p->times);
            weights += 4 * p->times * (4 + 4 * p->rounds);
        }
        if (p->cap != 0) {
            nncc_dsp_clamp_s8(p->out_h * p->out_w * p->channels, p->low, p->cap, y);
        }
        x += p->in_h * p->in_w * p->in_c;
        y += p->out_h * p->out_w * p->channels;
    }
}
