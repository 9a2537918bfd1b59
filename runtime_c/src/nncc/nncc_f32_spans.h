/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_f32_spans.h: the output pixels of float32 windows, by blocks that see the same taps. */
#include "nncc_f32_pixels.h"
#include "nncc_window.h"

/* Positions from, from+1, ... of an output axis whose windows have the same taps [first, last) inside of the input. */
typedef struct
{
    int32_t from, count;
    int32_t first, last;
} nncc_f32_span;

/* One axis of a window. */
typedef struct
{
    int32_t in, out, kernel, stride, dilation, pad;
} nncc_f32_axis;

/* The span that begins at an output position. */
NNCC_APART static nncc_f32_span nncc_f32_span_at(const nncc_f32_axis *a, int32_t from)
{
    const nncc_taps taps = nncc_window(from * a->stride - a->pad, a->dilation, a->kernel, a->in);
    nncc_f32_span s;
    int32_t to = from + 1;

    s.from = from;
    s.first = taps.first;
    s.last = taps.last;
    if (s.first == 0 && s.last == a->kernel) { /* the whole window: up to where it reaches the end of the input */
        to = (a->in - 1 - (a->kernel - 1) * a->dilation + a->pad) / a->stride + 1;
        to = to < a->out ? to : a->out;
    } else {
        for (; to < a->out; to++) {
            const nncc_taps next = nncc_window(to * a->stride - a->pad, a->dilation, a->kernel, a->in);

            if (next.first != s.first || next.last != s.last) {
                break;
            }
        }
    }
    s.count = to - from;
    if (s.last <= s.first) {
        s.first = 0;
        s.last = 0;
    }
    return s;
}

/* The pixels of two spans, row by row. Steps are in floats, from the last pixel of a row to the first one of the next
 * where they are rows'. */
typedef struct
{
    const float *x; /* first tap of the next pixel */
    float *y;       /* its results */
    int32_t left;
    int32_t column, columns;
    int32_t x_step, y_step;
    int32_t x_row, y_row;
} nncc_f32_walk;

/* The next NNCC_F32_PIXELS pixels, the last one repeated where fewer are left, or 1, if less than a block are. */
static inline int32_t nncc_f32_take(nncc_f32_walk *k, const float **x, float **y)
{
    const int32_t n = k->left >= NNCC_F32_LEAST ? NNCC_F32_PIXELS : 1;

    for (int32_t i = 0; i < n; i++) {
        x[i] = k->x;
        y[i] = k->y;
        if (k->left <= 1) {
            k->left = 0;
            continue;
        }
        k->left--;
        if (++k->column < k->columns) {
            k->x += k->x_step;
            k->y += k->y_step;
        } else {
            k->column = 0;
            k->x += k->x_row;
            k->y += k->y_row;
        }
    }
    return n;
}
