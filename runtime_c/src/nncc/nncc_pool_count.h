/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_pool_count.h: the divisor of average pooling. */
#include "nncc_window.h"

/*
 * Number of taps of a window along one axis that count: those inside the input (taps first..last of nncc_window), or
 * with include_pad those inside input and padding; taps that ceil mode pushes beyond the padding never count.
 */
static inline int32_t nncc_pool_count(int32_t origin, int32_t dilation, int32_t kernel, int32_t size,
                                      int32_t pad_before, int32_t pad_after, int32_t include_pad)
{
    const int32_t pad = include_pad != 0 ? pad_before : 0;
    const nncc_taps t = nncc_window(origin + pad, dilation, kernel, size + pad + (include_pad != 0 ? pad_after : 0));

    return t.last > t.first ? t.last - t.first : 0;
}
