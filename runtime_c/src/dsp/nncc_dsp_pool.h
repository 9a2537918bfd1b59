/* nncc_dsp_pool.h: the part of a pooling window that lies inside the input. */
#ifndef NNCC_DSP_POOL_H
#define NNCC_DSP_POOL_H

#include "nncc_dsp_core.h"

/* Cuts [start, start + size) to [0, extent). */
static inline void nncc_dsp_cut(int32_t start, int32_t size, int32_t extent, int32_t *from, int32_t *to)
{
    *from = start < 0 ? 0 : start;
    *to = start + size < extent ? start + size : extent;
}

#endif /* NNCC_DSP_POOL_H */
