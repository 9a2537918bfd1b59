/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_pool.h: the windows of a pooling kernel. */
#include "nncc_dsp_core.h"

/* Cuts [start, start + size) to [0, extent). */
static inline void nncc_dsp_cut(int32_t start, int32_t size, int32_t extent, int32_t *from, int32_t *to)
{
    *from = start < 0 ? 0 : start;
    *to = start + size < extent ? start + size : extent;
}

/* All channels of the window at x of rows by cols elements. */
typedef void nncc_dsp_pool_window_fn(const nncc_dsp_pool_params *p, const int8_t *x, int32_t rows, int32_t cols,
                                     int8_t *y);

/* Every window, cut to the input, then the clamp. */
static inline void nncc_dsp_pool_windows(const nncc_dsp_pool_params *p, nncc_dsp_pool_window_fn *window,
                                         const int8_t *x, int8_t *y)
{
    int8_t *to = y;

    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            int32_t y0, y1;

            nncc_dsp_cut(oy * p->stride_h - p->pad_h, p->kernel_h, p->in_h, &y0, &y1);
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                int32_t x0, x1;

                nncc_dsp_cut(ox * p->stride_w - p->pad_w, p->kernel_w, p->in_w, &x0, &x1);
                window(p, x + (y0 * p->in_w + x0) * p->channels, y1 - y0, x1 - x0, to);
                to += p->channels;
            }
        }
        x += p->in_h * p->in_w * p->channels;
    }
    if (p->cap != 0) {
        nncc_dsp_clamp_s8((int32_t)(to - y), p->low, p->cap, y);
    }
}
