/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_helium_window.h: the windows of a pooling operator, cut to the image. An including file defines
 * nncc_pool_window. */
#include "nncc_helium_core.h"

/* A cut window: `runs` runs of `length` neighbouring pixels, `step` bytes apart. */
typedef struct
{
    const int8_t *x;
    int32_t runs;
    int32_t length;
    int32_t step;
} nncc_window;

/* All channels of one output pixel. */
static void nncc_pool_window(const nncc_helium_pool_params *p, const nncc_window *w, int8_t *y);

static inline void nncc_pool_image(const nncc_helium_pool_params *p, const int8_t *x, int8_t *y)
{
    for (int32_t oy = 0; oy < p->out_h; oy++) {
        int32_t y0 = oy * p->stride_h - p->pad_top;
        int32_t y1 = y0 + p->kernel_h < p->in_h ? y0 + p->kernel_h : p->in_h;

        y0 = y0 < 0 ? 0 : y0;
        for (int32_t ox = 0; ox < p->out_w; ox++) {
            int32_t x0 = ox * p->stride_w - p->pad_left;
            int32_t x1 = x0 + p->kernel_w < p->in_w ? x0 + p->kernel_w : p->in_w;
            nncc_window w;

            x0 = x0 < 0 ? 0 : x0;
            w.x = x + (y0 * p->in_w + x0) * p->in_pitch;
            w.runs = y1 - y0;
            w.length = x1 - x0;
            w.step = p->in_w * p->in_pitch;
            if (w.length == p->in_w) { /* whole rows are one run */
                w.length *= w.runs;
                w.runs = 1;
            }
            nncc_pool_window(p, &w, y);
            y += p->out_pitch;
        }
    }
}

static inline void nncc_pool(const nncc_helium_pool_params *p, const int8_t *x, int8_t *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        nncc_pool_image(p, x, y);
        x += p->in_h * p->in_w * p->in_pitch;
        y += p->out_h * p->out_w * p->out_pitch;
    }
}
