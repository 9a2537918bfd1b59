/* nncc_resize_linear.h: the loops of bilinear kernels over rows and columns. */
#ifndef NNCC_RESIZE_LINEAR_H
#define NNCC_RESIZE_LINEAR_H

#include "nncc_copy.h"
#include "nncc_s8.h"

/*
 * The body of a kernel. kind ## _value is the type of blended values, kind ## _padded how many of them a pixel has,
 * kind ## _blend makes a row of them from two rows of the input, kind ## _pixel results from two pixels of that row.
 */
#define NNCC_RESIZE_LINEAR(kind) \
    do { \
        const int32_t channels = p->channels, pixel = kind##_padded(channels); \
        const int32_t in = p->in_w * channels, out = p->out_w * channels; \
        const kind##_round rounding = kind##_rounding(p); \
        kind##_value *const row = (kind##_value *)scratch; \
\
        for (int32_t n = p->batch; n > 0; n--) { \
            const int16_t *h = rows; \
\
            for (int32_t oy = p->out_h; oy > 0; oy--, h += 4) { \
                const int16_t *w = cols; \
\
                if (h[0] < 0) { \
                    nncc_set(y, (uint8_t)p->outside, out); \
                    y += out; \
                    continue; \
                } \
                kind##_blend(p, x + h[0] * in, x + h[1] * in, h[2] * p->scale, h[3] * p->scale, row); \
                for (int32_t ox = p->out_w; ox > 0; ox--, w += 4) { \
                    if (w[0] < 0) { \
                        nncc_set(y, (uint8_t)p->outside, channels); \
                    } else { \
                        kind##_pixel(&rounding, row + w[0] * pixel, row + w[1] * pixel, w[2], w[3], y, channels); \
                    } \
                    y += channels; \
                } \
            } \
            x += p->in_h * in; \
        } \
    } while (0)

#endif /* NNCC_RESIZE_LINEAR_H */
