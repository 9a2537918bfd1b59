/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_sliding.h: windows that slide over rows. What a column of a window gives is computed once for all windows
 * that it is in, strip by strip of a row of outputs.
 */
#include "nncc_dsp_core.h"
#include "nncc_dsp_pool.h"
#include "nncc_simd32.h"

/* to[i] is what bytes i of some rows give; n bytes. */
typedef void nncc_dsp_columns_fn(const int8_t *x, int32_t row, int32_t rows, int32_t n, void *to);

/* Windows of a row of the same size. */
typedef struct
{
    int32_t rows, cols;
    int32_t step; /* values from a column to the next */
    int32_t n;    /* values of a column that lie beside each other */
    int32_t count;
    int32_t next; /* values from a window to the next */
} nncc_dsp_windows;

/* Values i, i + step, ... of what columns gave make y[i], for each window. Up to three values behind are read. */
typedef void nncc_dsp_across_fn(const nncc_dsp_windows *w, const void *from, int8_t *y);

/* A row of outputs begins at y0 and ends at y1 in the input; its outputs x0 to x1 - 1. */
static inline void nncc_dsp_slide_row(const nncc_dsp_pool_params *p, nncc_dsp_columns_fn *columns,
                                      nncc_dsp_across_fn *across, int32_t size, const int8_t *x, int32_t row,
                                      int32_t o0, int32_t o1, int8_t *y, uint8_t *scratch)
{
    const int32_t c = p->channels, top = row * p->stride_h - p->pad_h, left = o0 * p->stride_w - p->pad_w;
    int32_t y0, y1, x0, x1;

    nncc_dsp_cut(top, p->kernel_h, p->in_h, &y0, &y1);
    nncc_dsp_cut(left, (o1 - 1 - o0) * p->stride_w + p->kernel_w, p->in_w, &x0, &x1);
    columns(x + (y0 * p->in_w + x0) * c, p->in_w * c, y1 - y0, (x1 - x0) * c, scratch);
    for (int32_t o = o0, n; o < o1; o += n) {
        int32_t from, to;
        nncc_dsp_windows w;

        nncc_dsp_cut(o * p->stride_w - p->pad_w, p->kernel_w, p->in_w, &from, &to);
        n = 1;
        if (to - from == p->kernel_w) {
            const int32_t fit = (p->in_w - to) / p->stride_w + 1;

            n = fit < o1 - o ? fit : o1 - o;
        }
        w.rows = y1 - y0;
        w.cols = to - from;
        w.step = c;
        w.n = p->stride_w == 1 ? n * c : c; /* outputs beside each other are one window of more channels */
        w.count = p->stride_w == 1 ? 1 : n;
        w.next = p->stride_w * c;
        across(&w, scratch + (from - x0) * c * size, y);
        y += n * c;
    }
}

/* size: bytes of what columns gives. scratch: those of a strip, and of three more. */
static inline void nncc_dsp_slide(const nncc_dsp_sliding_pool_params *s, nncc_dsp_columns_fn *columns,
                                  nncc_dsp_across_fn *across, int32_t size, const int8_t *x, int8_t *y,
                                  int32_t *scratch)
{
    const nncc_dsp_pool_params *const p = &s->pool;
    const int32_t line = p->out_w * p->channels;

    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t o = 0; o < p->out_w; o += s->strip) {
            const int32_t end = o + s->strip < p->out_w ? o + s->strip : p->out_w;

            for (int32_t row = 0; row < p->out_h; row++) {
                nncc_dsp_slide_row(p, columns, across, size, x, row, o, end, y + row * line + o * p->channels,
                                   (uint8_t *)scratch);
            }
        }
        x += p->in_h * p->in_w * p->channels;
        y += p->out_h * line;
    }
    if (p->cap != 0) {
        const int32_t count = p->batches * p->out_h * line;

        nncc_dsp_clamp_s8(count, p->low, p->cap, y - count);
    }
}
