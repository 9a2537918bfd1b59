/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_affine.h: applying a proven linear function. */
#include "nncc_s8.h"

/* clamp((q * mult + bias) >> shift). */
static inline int8_t nncc_affine_apply(const nncc_affine_s8 *f, int32_t q, int32_t lo, int32_t hi)
{
    const int64_t v = ((int64_t)q * f->mult + f->bias) >> f->shift;

    return (int8_t)(v < lo ? lo : (v > hi ? hi : v));
}
