/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_window.h: which taps of a sliding window lie inside the input. */
#include <stdint.h>

/* Taps [first, last) of a window; none where first >= last. */
typedef struct
{
    int32_t first, last;
} nncc_taps;

/*
 * Those of a window with `kernel` taps, `dilation` apart, whose tap 0 lies at input position `origin` (negative: in the
 * padding), that fall on positions 0..size-1. The divisions run only at borders.
 */
static inline nncc_taps nncc_window(int32_t origin, int32_t dilation, int32_t kernel, int32_t size)
{
    nncc_taps t = {0, kernel};

    if (origin < 0) {
        t.first = (dilation - 1 - origin) / dilation;
    }
    if (origin + (kernel - 1) * dilation >= size) {
        t.last = (size - origin + dilation - 1) / dilation;
    }
    return t;
}
