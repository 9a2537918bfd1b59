/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_f32_pixels.h: output pixels and channels that are computed together. */
#include "nncc_fp.h"

#include "nncc_f32.h"
#include "nncc_f32_core.h"

#define NNCC_F32_PIXELS (NNCC_F32_MVE || NNCC_F32_C ? 3 : 2) /* pixels of a block */
/* So many pixels are a block: with less each is computed by itself. */
#define NNCC_F32_LEAST (NNCC_F32_FPU && NNCC_F32_C ? 3 : 2)

/* Channels of a record. */
#define NNCC_F32_WIDE 8
#define NNCC_F32_NARROW 4

/* Which limits a result has. */
#define NNCC_F32_NO_LIMIT 0
#define NNCC_F32_LOWER 1
#define NNCC_F32_BOTH 2

static inline int32_t nncc_f32_limits(float lo, float hi)
{
    if (hi < NNCC_F32_INF) {
        return NNCC_F32_BOTH;
    }
    return lo > -NNCC_F32_INF ? NNCC_F32_LOWER : NNCC_F32_NO_LIMIT;
}
