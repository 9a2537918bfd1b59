/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_window.h: which taps of a sliding window lie inside the input. */
#ifndef NNCC_WINDOW_H
#define NNCC_WINDOW_H

#include <stdint.h>

/*
 * Taps [*first, *last) of a window with `kernel` taps, `dilation` apart, whose tap 0 lies at input position `origin`
 * (negative: in the padding) and that fall on positions 0..size-1. Empty windows give *first >= *last.
 * The divisions run only at borders.
 */
static inline void nncc_window(int32_t origin, int32_t dilation, int32_t kernel, int32_t size, int32_t *first,
                               int32_t *last)
{
    int32_t lo = 0;
    int32_t hi = kernel;

    if (origin < 0) {
        lo = (dilation - 1 - origin) / dilation;
    }
    if (origin + (kernel - 1) * dilation >= size) {
        hi = (size - origin + dilation - 1) / dilation;
    }
    *first = lo;
    *last = hi;
}

#endif /* NNCC_WINDOW_H */
