/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_pair_ratio_s8: four elements in 11 instructions with Helium, 8 an element with SMMULR. */
#include "nncc_pair.h"

#if NNCC_MVE
#define NNCC_RATIO_FOUR(what, table) \
    do { \
        const int32x4_t f = vldrwq_gather_shifted_offset_s32(table, NNCC_GET4U##what(b)); \
        const int32x4_t v = vqrdmulhq_s32(vmlasq_n_s32(NNCC_GET4##what(a), steps, c), f); \
\
        NNCC_PUT4##what(y, nncc_limit4(vaddq_n_s32(v, zero), lo, hi)); \
        NNCC_PAIR_MOVE(4); \
    } while (0)
#endif

void nncc_pair_ratio_s8(const void *form, const int8_t *a, const int8_t *b, int8_t *y, int32_t n)
{
    const nncc_pair_ratio_s8_params *const p = (const nncc_pair_ratio_s8_params *)form;
#if NNCC_MVE
    const int32x4_t steps = vdupq_n_s32(256), lo = vdupq_n_s32(p->act_min), hi = vdupq_n_s32(p->act_max);
    const int32_t c = -256 * p->a_zero, zero = p->out_zero;

    NNCC_MVE_LOOP(n, 4, vctp32q, NNCC_RATIO_FOUR, p->factor);
#else
    const int32_t c = -512 * p->a_zero, zero = p->out_zero, lo = p->act_min, hi = p->act_max;
    const int32_t *const factor = p->factor;

    NNCC_PAIR_LOOP(lo, hi, nncc_pair_high_add(c + 512 * u, factor[(uint8_t)v], zero));
#endif
}
