/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_wide_pool.h: the windows of int16 pools. */
#include "nncc_wide.h"

/* Elements [*first, *last) of a window of `kernel` at `origin` that are among 0..size-1. */
static inline void nncc_wide_span(int32_t origin, int32_t kernel, int32_t size, int32_t *first, int32_t *last)
{
    *first = origin < 0 ? -origin : 0;
    *last = origin + kernel > size ? size - origin : kernel;
}

/*
 * The part of a window inside the map: its first pixel, rows and columns, and the distance between rows; and what
 * divides by a number of elements, which windows next to each other have in common.
 */
typedef struct
{
    const int16_t *x;
    int32_t rows, cols, pitch;
    int32_t count, shift;
    uint32_t factor;
} nncc_wide_part;

/* Calls one for every window with its part and its results. */
#define NNCC_WIDE_POOL(p, x, y, one) \
    do { \
        nncc_wide_part part = {NULL, 0, 0, 0, 0, 0, 0}; \
\
        for (int32_t n = (p)->batch; n > 0; n--) { \
            for (int32_t oy = 0; oy < (p)->out_h; oy++) { \
                const int32_t top = oy * (p)->stride_h - (p)->pad_h; \
                int32_t y0, y1; \
\
                nncc_wide_span(top, (p)->kernel_h, (p)->in_h, &y0, &y1); \
                for (int32_t ox = 0; ox < (p)->out_w; ox++) { \
                    const int32_t left = ox * (p)->stride_w - (p)->pad_w; \
                    int32_t x0, x1; \
\
                    nncc_wide_span(left, (p)->kernel_w, (p)->in_w, &x0, &x1); \
                    part.x = (x) + ((top + y0) * (p)->in_w + left + x0) * (p)->channels; \
                    part.rows = y1 - y0; \
                    part.cols = x1 - x0; \
                    part.pitch = (p)->in_w * (p)->channels; \
                    if (part.cols == (p)->in_w) { /* whole rows follow each other */ \
                        part.cols *= part.rows; \
                        part.rows = 1; \
                    } \
                    one((p), &part, (y)); \
                    (y) += (p)->channels; \
                } \
            } \
            (x) += (p)->in_h * (p)->in_w * (p)->channels; \
        } \
    } while (0)

/* Two neighbours in a word, wherever they lie. */
#if defined(__ARM_FEATURE_UNALIGNED) && !defined(__ARM_BIG_ENDIAN)
#define NNCC_WIDE_WORDS 1
#else
#define NNCC_WIDE_WORDS 0
#endif

/* A window of one element: its channels, limited. */
static inline void nncc_wide_pixel(const nncc_pool_s16_params *p, const int16_t *x, int16_t *y)
{
    const int32_t lo = p->act_min, hi = p->act_max;
    int32_t n = p->channels;

#if NNCC_WIDE_MVE
    const int16_t *a = x;

    NNCC_WIDE_MAP_VECTORS(nncc_wide_clamp8(u, lo, hi));
#else
    for (; n > 0; n--) {
        const int32_t v = *x++;

        *y++ = (int16_t)NNCC_WIDE_LIMIT(v, lo, hi);
    }
#endif
}
