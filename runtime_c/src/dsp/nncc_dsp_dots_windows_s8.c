/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_dots_windows_s8: two windows at a time times pairs of channels. A window inside the map is read where it
 * lies, its rows like rows of inputs; one that has pixels outside is copied.
 */
#include "nncc_copy.h"
#include "nncc_dsp_dots_rows.h"

/* A window's rows: the first one, and bytes from one to the next. */
typedef struct
{
    const int8_t *x;
    int32_t pitch;
} windowed;

/* The window at a place of the map x, perhaps outside; t is for a copy. */
static windowed find(const nncc_dsp_dots_windows_params *p, const int8_t *x, int32_t top, int32_t left, int8_t *t)
{
    const int32_t row = p->dots.in_c, high = top + (p->kernel_h - 1) * p->dil_h, wide = left + p->kernel_w;
    const int32_t from = left < 0 ? -left : 0, to = wide > p->in_w ? p->in_w - left : p->kernel_w;
    windowed w = {x + (top * p->in_w + left) * p->in_c, p->dots.in_pitch};

    if (top >= 0 && high < p->in_h && from == 0 && to == p->kernel_w) {
        return w;
    }
    nncc_set(t, (uint8_t)p->outside, p->kernel_h * row);
    for (int32_t k = 0; k < p->kernel_h; k++) {
        const int32_t at = top + k * p->dil_h;

        if (at >= 0 && at < p->in_h && to > from) {
            nncc_copy(t + k * row + from * p->in_c, x + (at * p->in_w + left + from) * p->in_c, (to - from) * p->in_c);
        }
    }
    w.x = t;
    w.pitch = row;
    return w;
}

/* A line of outputs: windows from top on, that begin a stride after each other. */
typedef struct
{
    const nncc_dsp_dots_windows_params *p;
    const int8_t *x;
    int32_t top, inside; /* inside: the rows of all windows are in the map */
    int8_t *scratch;
} line;

/* The window at left and the one behind it; of a single one, the same again. */
static inline void find_two(const line *l, int32_t left, int32_t single, windowed *a, windowed *b)
{
    const nncc_dsp_dots_windows_params *const p = l->p;
    const int32_t next = single != 0 ? 0 : p->stride_w;

    if (l->inside != 0 && left >= 0 && left + next + p->kernel_w <= p->in_w) {
        a->x = l->x + (l->top * p->in_w + left) * p->in_c;
        a->pitch = p->dots.in_pitch;
        b->x = a->x + next * p->in_c;
        b->pitch = a->pitch;
        return;
    }
    *a = find(p, l->x, l->top, left, l->scratch);
    *b = single != 0 ? *a : find(p, l->x, l->top, left + next, l->scratch + p->kernel_h * p->dots.in_c);
}

/* A line of a channel. */
static void one_channel(const line *l, const int32_t *w, int8_t *y)
{
    const nncc_dsp_dots_windows_params *const p = l->p;
    const nncc_dsp_dots_channel h = nncc_dsp_dots_head(&p->dots, w);
    const int32_t fours = p->dots.in_c >> 2, rest = p->dots.in_c & 3, next = p->dots.out_pitch;
    int32_t left = -p->pad_w;

    for (int32_t ow = p->out_w; ow > 0; ow -= 2) {
        const int32_t *from = w + NNCC_DSP_DOTS_HEAD;
        int32_t sums[2] = {h.start, h.start};
        windowed a, b;

        find_two(l, left, ow == 1, &a, &b);
        for (int32_t k = p->kernel_h; k > 0; k--) {
            nncc_dsp_dots_two_by_one(a.x, b.x, from, fours, sums);
            from += 2 * fours;
            if (rest > 0) {
                sums[0] = nncc_dsp_dots_rest(a.x + 4 * fours, from, rest, sums[0]);
                sums[1] = nncc_dsp_dots_rest(b.x + 4 * fours, from, rest, sums[1]);
                from++;
            }
            a.x += a.pitch;
            b.x += b.pitch;
        }
        nncc_dsp_dots_store(&h, sums[0], y);
        if (ow > 1) {
            nncc_dsp_dots_store(&h, sums[1], y + next);
        }
        left += 2 * p->stride_w;
        y += 2 * next;
    }
}

/* A line of a pair of channels. */
static void two_channels(const line *l, const int32_t *w, int8_t *y)
{
    const nncc_dsp_dots_windows_params *const p = l->p;
    const nncc_dsp_dots_channel h = nncc_dsp_dots_head(&p->dots, w);
    const nncc_dsp_dots_channel g = nncc_dsp_dots_head(&p->dots, w + NNCC_DSP_DOTS_HEAD);
    const int32_t fours = p->dots.in_c >> 2, rest = p->dots.in_c & 3, next = p->dots.out_pitch;
    int32_t left = -p->pad_w;

    for (int32_t ow = p->out_w; ow > 0; ow -= 2) {
        const int32_t *from = w + 2 * NNCC_DSP_DOTS_HEAD;
        int32_t sums[4] = {h.start, g.start, h.start, g.start};
        windowed a, b;

        find_two(l, left, ow == 1, &a, &b);
        for (int32_t k = p->kernel_h; k > 0; k--) {
            nncc_dsp_dots_two_by_two(a.x, b.x, from, fours, sums);
            from += 4 * fours;
            if (rest > 0) {
                sums[0] = nncc_dsp_dots_rest(a.x + 4 * fours, from, rest, sums[0]);
                sums[1] = nncc_dsp_dots_rest(a.x + 4 * fours, from + 1, rest, sums[1]);
                sums[2] = nncc_dsp_dots_rest(b.x + 4 * fours, from, rest, sums[2]);
                sums[3] = nncc_dsp_dots_rest(b.x + 4 * fours, from + 1, rest, sums[3]);
                from += 2;
            }
            a.x += a.pitch;
            b.x += b.pitch;
        }
        nncc_dsp_dots_store(&h, sums[0], y);
        nncc_dsp_dots_store(&g, sums[1], y + 1);
        if (ow > 1) {
            nncc_dsp_dots_store(&h, sums[2], y + next);
            nncc_dsp_dots_store(&g, sums[3], y + next + 1);
        }
        left += 2 * p->stride_w;
        y += 2 * next;
    }
}

void nncc_dsp_dots_windows_s8(const nncc_dsp_dots_windows_params *p, const int8_t *x, const int32_t *w, int8_t *y,
                              int8_t *scratch)
{
    const int32_t row = p->dots.in_c, channels = p->dots.out_c, high = (p->kernel_h - 1) * p->dil_h;
    const int32_t words = p->kernel_h * ((row >> 2) * 2 + ((row & 3) != 0 ? 1 : 0)) + NNCC_DSP_DOTS_HEAD;
    line l = {p, x, 0, 0, scratch};

    for (int32_t n = p->batches; n > 0; n--) {
        l.top = -p->pad_h;
        for (int32_t oh = p->out_h; oh > 0; oh--) {
            const int32_t *from = w;
            int32_t c = 0;

            l.inside = l.top >= 0 && l.top + high < p->in_h ? 1 : 0;
            for (; c + 1 < channels; c += 2) {
                two_channels(&l, from, y + c);
                from += 2 * words;
            }
            if (c < channels) {
                one_channel(&l, from, y + c);
            }
            l.top += p->stride_h;
            y += p->out_w * p->dots.out_pitch;
        }
        l.x += p->in_h * p->in_w * p->in_c;
    }
}
