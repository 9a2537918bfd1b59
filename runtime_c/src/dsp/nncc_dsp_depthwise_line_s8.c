/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_line_s8: windows of one row. Four channels at a time, a row becomes quads of two neighbours in a
 * window. Outputs whose window begins with the second one of a quad have weights of their own.
 */
#include "nncc_dsp_interleave_quads.h"

/* The quads of `slots` inputs of a window's row, dil_w columns apart, from column ix on: rounded up to whole quads. */
static void fill_quads(const nncc_dsp_depthwise_line_params *p, const int8_t *row, const int8_t *outside, int32_t ix,
                       int32_t slots, int32_t *quads)
{
    const int32_t d = p->dil_w, step = d * p->in_c;
    int32_t s = 0;

    while (s < slots) {
        const int32_t at = ix + s * d; /* columns of the quad are at and at + d */
        nncc_dsp_two_rows t = {outside, outside, 0, 0};
        int32_t n = 1;

        if (row != NULL && at >= 0 && at < p->in_w) {
            t.a = row + at * p->in_c;
        }
        if (row != NULL && at + d >= 0 && at + d < p->in_w) {
            t.b = row + (at + d) * p->in_c;
        }
        if (t.a != outside && t.b != outside) {
            const int32_t inside = (p->in_w - at - d + 2 * d - 1) / (2 * d), left = (slots - s + 1) / 2;

            n = inside < left ? inside : left;
            t.a_step = 2 * step;
            t.b_step = 2 * step;
        }
        nncc_dsp_interleave_quads(&t, n, quads);
        quads += 4 * n;
        s += 2 * n;
    }
}

/* `count` outputs, phases_w columns apart, of four channels, whose quads are there: y is the first output. */
static void outputs(const nncc_dsp_depthwise_line_params *p, nncc_dsp_depthwise_pairs_fn *fn, const int32_t *quads,
                    const int32_t *w, int32_t count, int8_t *y)
{
    const int32_t sets = 1 + (p->down & 1);
    nncc_dsp_depthwise_pairs f;

    f.skip = 0;
    f.taps = p->taps;
    f.step = 8 * sets * p->down;
    f.pixel = sets * p->phases_w * p->channels;
    f.times = p->times;
    for (int32_t odd = 0; odd < sets && odd < count; odd++) {
        f.x = quads + 4 * (odd * p->down / 2);
        f.w = w + odd * p->even_words;
        for (int32_t m = 0; m < p->times; m++) {
            f.y = y + odd * p->phases_w * p->channels + m;
            f.end = f.y + (count - odd + sets - 1) / sets * f.pixel;
            f.w_end = f.w + 4 + 4 * p->taps * p->turns;
            fn(&f);
            f.w += p->group_words;
        }
    }
}

void nncc_dsp_depthwise_line_s8(const nncc_dsp_depthwise_line_params *p, nncc_dsp_depthwise_pairs_fn *fn,
                                const int8_t *x, const int32_t *w, int8_t *y, int32_t *scratch)
{
    const int8_t *const outside = (const int8_t *)scratch;
    int32_t *const quads = scratch + 1;

    memset(scratch, p->pad, 4);
    nncc_dsp_fill(quads, 0, p->quads_bytes);
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            const int32_t iy = oy * p->stride_h - p->pad_h;
            const int8_t *const row = iy >= 0 && iy < p->in_h ? x + iy * p->in_w * p->in_c : NULL;
            const int32_t *weights = w;

            for (int32_t c = 0; c < p->in_c; c += 4) {
                const int32_t first = nncc_dsp_group(c, p->in_c);

                for (int32_t k = 0; k < p->phases_w; k++) {
                    for (int32_t ox = k; ox < p->out_w; ox += p->span * p->phases_w) {
                        const int32_t rest = (p->out_w - ox + p->phases_w - 1) / p->phases_w;
                        const int32_t count = rest < p->span ? rest : p->span;

                        fill_quads(p, row == NULL ? NULL : row + first, outside, ox * p->stride_w - p->pad_w,
                                   (count - 1) * p->down + p->kernel_w, quads);
                        outputs(p, fn, quads, weights, count, y + ox * p->channels + first * p->times);
                    }
                }
                weights += p->times * p->group_words;
            }
            y += p->out_w * p->channels;
        }
        x += p->in_h * p->in_w * p->in_c;
        if (p->cap != 0) {
            const int32_t bytes = p->out_h * p->out_w * p->channels;

            nncc_dsp_clamp_s8(bytes, p->low, p->cap, y - bytes);
        }
    }
}
