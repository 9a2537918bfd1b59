/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_resize_linear.h: the loops of bilinear kernels over rows and columns. */
#include "nncc_copy.h"
#include "nncc_s8.h"

/* Loops in functions of their own keep their variables in registers. */
#if defined(__GNUC__)
#define NNCC_RESIZE_APART __attribute__((noinline))
#else
#define NNCC_RESIZE_APART
#endif

/*
 * Names that begin with `kind` are a kernel's: kind ## _value is the type of blended values, kind ## _padded how many
 * of them a pixel has, kind ## _blend makes a row of them from two rows of the input, kind ## _pixel results from two
 * pixels of that row. This is the body of
 * kind ## _columns, which makes a row of results.
 */
#define NNCC_RESIZE_COLUMNS(kind) \
    do { \
        const kind##_round r = *rounding; \
        const int32_t channels = p->channels; \
        const int32_t pixel = kind##_padded(&r, channels); \
\
        for (int32_t ox = p->out_w; ox > 0; ox--) { \
            if (w[0] < 0) { \
                nncc_set(y, (uint8_t)p->outside, channels); \
            } else { \
                kind##_pixel(&r, row + w[0] * pixel, row + w[1] * pixel, w[2], w[3], y, channels); \
            } \
            w += 4; \
            y += channels; \
        } \
    } while (0)

/* The body of a kernel. */
#define NNCC_RESIZE_LINEAR(kind) \
    do { \
        const int32_t in = p->in_w * p->channels, out = p->out_w * p->channels; \
        const kind##_round rounding = kind##_rounding(p, x, y); \
        kind##_value *const row = (kind##_value *)scratch; \
\
        for (int32_t n = p->batch; n > 0; n--) { \
            const int16_t *h = rows; \
\
            for (int32_t oy = p->out_h; oy > 0; oy--) { \
                if (h[0] < 0) { \
                    nncc_set(y, (uint8_t)p->outside, out); \
                } else { \
                    kind##_blend(p, &rounding, x + h[0] * in, x + h[1] * in, h[2] * p->scale, h[3] * p->scale, row); \
                    kind##_columns(p, &rounding, row, cols, y); \
                } \
                h += 4; \
                y += out; \
            } \
            x += p->in_h * in; \
        } \
    } while (0)
