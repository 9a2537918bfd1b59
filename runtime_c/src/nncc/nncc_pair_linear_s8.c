/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_pair_linear_s8: four elements in 9 instructions with Helium, 8 an element with a multiply-accumulate. */
#include "nncc_pair.h"

void nncc_pair_linear_s8(const void *form, const int8_t *a, const int8_t *b, int8_t *y, int32_t n)
{
    const nncc_pair_linear_s8_params *const p = (const nncc_pair_linear_s8_params *)form;
#if NNCC_MVE
    const int32x4_t ka = vdupq_n_s32(p->a), lo = vdupq_n_s32(p->act_min), hi = vdupq_n_s32(p->act_max);
    const int32_t kb = p->b, c = p->c, up = -p->shift;

    NNCC_PAIR_FOURS(nncc_limit4(vshlq_r_s32(vmlaq_n_s32(vmlasq_n_s32(u, ka, c), v, kb), up), lo, hi));
#else
    const int32_t ka = p->a, kb = p->b, c = p->c, shift = p->shift, lo = p->act_min, hi = p->act_max;

    NNCC_PAIR_LOOP(lo, hi, (ka * u + c + kb * v) >> shift);
#endif
}
