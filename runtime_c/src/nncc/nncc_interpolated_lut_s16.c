/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_interpolated_lut_s16: eight elements in 11 instructions with Helium, whose VQRDMULH has the rounding. */
#include "nncc_element_int.h"
#include "nncc_simd32.h"
#include "nncc_wide.h"

#if NNCC_WIDE_MVE

static inline int16x8_t nncc_lut_eight(const int16_t *points, int16x8_t q)
{
    const uint16x8_t at = vreinterpretq_u16_s16(vaddq_n_s16(vshrq_n_s16(q, 7), 256));
    const int16x8_t first = vldrhq_gather_shifted_offset_s16(points, at);
    const int16x8_t slope = vsubq_s16(vldrhq_gather_shifted_offset_s16(points + 1, at), first);

    return vaddq_s16(first, vqrdmulhq_s16(slope, vandq_s16(vshlq_n_s16(q, 8), vdupq_n_s16(0x7f00))));
}

#elif NNCC_SIMD32 && !defined(__OPTIMIZE_SIZE__)

/* Both points are one load; upper halves of what is computed with them are not stored. */
static inline int32_t nncc_lut_one(const int16_t *points, int32_t q)
{
    const uint32_t both = nncc_load_word(points + 256 + (q >> 7));
    const int32_t slope = ((int32_t)both >> 16) - (int32_t)both;

    return (int32_t)(both + (uint32_t)(__smlabb(slope, q & 127, 64) >> 7));
}

#endif

void nncc_interpolated_lut_s16(const nncc_count_params *p, const int16_t *x, const int16_t *points, int16_t *y)
{
    const int16_t *a = x;
    int32_t n = p->count;

#if NNCC_WIDE_MVE
    NNCC_WIDE_MAP_VECTORS(nncc_lut_eight(points, u));
#elif NNCC_SIMD32 && !defined(__OPTIMIZE_SIZE__)
    NNCC_WIDE_EACH(nncc_lut_one(points, u), r);
#else
    NNCC_WIDE_EACH_SHORT(nncc_el_interpolated_lut_s16(points, u), r);
#endif
}
