/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_pairs_s8: four channels at a time, the rows under some rows of outputs become quads of two rows,
 * [pair of rows][column], which the rows of outputs share.
 */
#include "nncc_dsp_interleave_quads.h"

/* What some rows of outputs read of four channels. */
typedef struct
{
    const nncc_dsp_depthwise_pairs_params *p;
    const int8_t *image; /* the first of the four channels */
    const int8_t *outside;
    int32_t *quads;
    int32_t first; /* row of the image, may be negative */
    int32_t rows;  /* of outputs */
    int32_t ox;    /* columns of the output */
    int32_t count;
} nncc_dsp_part;

/* Row r of a part: its pixels from column ix on. */
static const int8_t *row_of(const nncc_dsp_part *a, int32_t r, int32_t ix, int32_t *step)
{
    const nncc_dsp_depthwise_pairs_params *const p = a->p;
    const int32_t iy = a->first + r * p->dil_h;

    if (iy < 0 || iy >= p->in_h) {
        *step = 0;
        return a->outside;
    }
    *step = p->dil_w * p->in_c;
    return a->image + (iy * p->in_w + ix) * p->in_c;
}

/* Columns that lie dil_w apart stand side by side. */
static void fill_quads(const nncc_dsp_part *a)
{
    const nncc_dsp_depthwise_pairs_params *const p = a->p;
    const int32_t left = p->pad_w - a->ox * p->stride_w; /* column of the part that is the image's first one */
    const int32_t need = (a->count - 1) * p->stride_w + (p->kernel_w - 1) * p->dil_w + 1;
    const int32_t end = left + p->in_w < need ? left + p->in_w : need;
    const int32_t slots = (a->rows - 1) * p->down + p->kernel_h;

    for (int32_t k = 0; k < p->dil_w; k++) {
        const int32_t skip = k < left ? (left - k + p->dil_w - 1) / p->dil_w : 0;
        const int32_t from = k + skip * p->dil_w;
        int32_t *to = a->quads + 4 * (k * p->width + skip);

        if (from >= end) {
            continue;
        }
        for (int32_t r = 0; r < slots; r += 2) {
            nncc_dsp_two_rows t;

            t.a = row_of(a, r, from - left, &t.a_step);
            t.b = row_of(a, r + 1, from - left, &t.b_step);
            nncc_dsp_interleave_quads(&t, (end - from + p->dil_w - 1) / p->dil_w, to);
            to += 4 * p->dil_w * p->width;
        }
    }
}

/* The outputs of a part, rows `line` bytes apart; y is the first one of the first channel. */
static void outputs(const nncc_dsp_part *a, nncc_dsp_depthwise_pairs_fn *fn, const int32_t *w, int32_t line, int8_t *y)
{
    const nncc_dsp_depthwise_pairs_params *const p = a->p;
    nncc_dsp_depthwise_pairs f;

    f.taps = p->kernel_w;
    f.skip = 16 * (p->dil_w * p->width - f.taps);
    f.step = 16 * (p->stride_w * p->phases_w / p->dil_w);
    f.pixel = p->phases_w * p->channels;
    f.times = p->times;
    for (int32_t r = 0; r < a->rows; r++) {
        const int32_t slot = r * p->down, odd = slot & 1;

        for (int32_t k = 0; k < p->phases_w && k < a->count; k++) {
            const int32_t column = k * p->stride_w;
            const int32_t columns = (a->count - k + p->phases_w - 1) / p->phases_w;

            f.x = a->quads + 4 * ((slot / 2 * p->dil_w + column % p->dil_w) * p->width + column / p->dil_w);
            f.w = w + odd * p->even_words;
            for (int32_t m = 0; m < p->times; m++) {
                f.y = y + k * p->channels + m;
                f.end = f.y + columns * f.pixel;
                f.w_end = f.w + 4 + 4 * f.taps * ((p->kernel_h + 1 + odd) / 2);
                fn(&f);
                f.w += p->group_words;
            }
        }
        y += line;
    }
}

/* All rows of four channels of an image: y is their first output. */
static void four_channels(nncc_dsp_part *a, nncc_dsp_depthwise_pairs_fn *fn, const int32_t *w, int8_t *y)
{
    const nncc_dsp_depthwise_pairs_params *const p = a->p;
    const int32_t row = p->out_w * p->channels;

    for (int32_t k = 0; k < p->phases_h; k++) {
        for (int32_t oy = k; oy < p->out_h; oy += p->rows * p->phases_h) {
            const int32_t rest = (p->out_h - oy + p->phases_h - 1) / p->phases_h;

            a->first = oy * p->stride_h - p->pad_h;
            a->rows = rest < p->rows ? rest : p->rows;
            for (a->ox = 0; a->ox < p->out_w; a->ox += p->span) {
                a->count = p->out_w - a->ox < p->span ? p->out_w - a->ox : p->span;
                if (p->span < p->out_w) {
                    nncc_dsp_fill(a->quads, nncc_dsp_pair(256 * p->pad, 256 * p->pad), p->quads_bytes);
                }
                fill_quads(a);
                outputs(a, fn, w, p->phases_h * row, y + oy * row + a->ox * p->channels);
            }
        }
    }
}

void nncc_dsp_depthwise_pairs_s8(const nncc_dsp_depthwise_pairs_params *p, nncc_dsp_depthwise_pairs_fn *fn,
                                 const int8_t *x, const int32_t *w, int8_t *y, int32_t *scratch)
{
    nncc_dsp_part a;

    a.p = p;
    a.outside = (const int8_t *)scratch;
    a.quads = scratch + 1;
    memset(scratch, p->pad, 4);
    nncc_dsp_fill(a.quads, nncc_dsp_pair(256 * p->pad, 256 * p->pad), p->quads_bytes);
    for (int32_t n = 0; n < p->batches; n++) {
        const int32_t *weights = w;

        for (int32_t c = 0; c < p->in_c; c += 4) {
            const int32_t first = nncc_dsp_group(c, p->in_c);

            a.image = x + first;
            four_channels(&a, fn, weights, y + first * p->times);
            weights += p->times * p->group_words;
        }
        if (p->cap != 0) {
            nncc_dsp_clamp_s8(p->out_h * p->out_w * p->channels, p->low, p->cap, y);
        }
        x += p->in_h * p->in_w * p->in_c;
        y += p->out_h * p->out_w * p->channels;
    }
}
