/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_norm_s8.h: statistics of int8 normalisation in fixed point (nncc_norm_s8.c). */
#include "nncc_isa.h"
#include "nncc_mve.h"
#include "nncc_s8.h"

#if NNCC_MVE && NNCC_ASM
#define NNCC_NORM_MVE 1
#else
#define NNCC_NORM_MVE 0
#endif

/* So many values have sums of squares below 2^31. */
#define NNCC_NORM_CHUNK 65536

/* Sums of values and of their squares. */
typedef struct
{
    int32_t sum;
    int64_t square;
} nncc_norm_sums;

/* A normalised value is x * scale - offset, both times 2^f. */
typedef struct
{
    int32_t scale;
    int64_t offset;
} nncc_norm_scale;

/* Adds n values to the sums. */
void nncc_norm_add(const int8_t *x, int32_t n, nncc_norm_sums *s);

/* The scale of a group of n values: their mean is subtracted, or with center = 0 the zero point. */
nncc_norm_scale nncc_norm_of(const nncc_norm_s8_params *p, int32_t n, const nncc_norm_sums *s, int32_t center,
                             int32_t zero);

/* v / 2^shift, saturated. */
static inline int8_t nncc_norm_narrow(uint32_t v, int32_t shift)
{
    const int32_t y = (int32_t)v >> shift;

    return (int8_t)(y > 127 ? 127 : (y < -128 ? -128 : y));
}
