/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_fours.h: windows of at most two by two elements as four each, where a window has fewer with some of them
 * twice: neither a maximum nor a mean changes.
 */
#include "nncc_dsp_core.h"
#include "nncc_dsp_pool.h"
#include "nncc_simd32.h"

/* Windows of a row, from one to the next `step` bytes; their elements are also `right`, `down` and both away. */
typedef struct
{
    int32_t right, down, channels, step, count;
} nncc_dsp_four_windows;

typedef void nncc_dsp_four_fn(const nncc_dsp_four_windows *w, const int8_t *x, int8_t *y);

static inline void nncc_dsp_fours_row(const nncc_dsp_pool_params *p, nncc_dsp_four_fn *four, const int8_t *x,
                                      int32_t down, int8_t *y)
{
    nncc_dsp_four_windows w;

    w.down = down;
    w.channels = p->channels;
    w.step = p->stride_w * p->channels;
    for (int32_t o = 0; o < p->out_w; o += w.count) {
        int32_t from, to;

        nncc_dsp_cut(o * p->stride_w - p->pad_w, p->kernel_w, p->in_w, &from, &to);
        w.right = (to - from - 1) * p->channels;
        w.count = 1;
        if (to - from == p->kernel_w) { /* and so have those up to the right side */
            const int32_t fit = (p->in_w - to) / p->stride_w + 1;

            w.count = fit < p->out_w - o ? fit : p->out_w - o;
        }
        four(&w, x + from * p->channels, y);
        y += w.count * p->channels;
    }
}

static inline void nncc_dsp_fours(const nncc_dsp_pool_params *p, nncc_dsp_four_fn *four, const int8_t *x, int8_t *y)
{
    const int32_t row = p->in_w * p->channels, line = p->out_w * p->channels;
    int8_t *to = y;

    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t o = 0; o < p->out_h; o++) {
            int32_t y0, y1;

            nncc_dsp_cut(o * p->stride_h - p->pad_h, p->kernel_h, p->in_h, &y0, &y1);
            nncc_dsp_fours_row(p, four, x + y0 * row, (y1 - y0 - 1) * row, to);
            to += line;
        }
        x += p->in_h * row;
    }
    if (p->cap != 0) {
        nncc_dsp_clamp_s8((int32_t)(to - y), p->low, p->cap, y);
    }
}
