/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_wide.h"

void nncc_clamp_s16(const nncc_clamp_s16_params *p, const int16_t *x, int16_t *y)
{
    const int32_t lo = p->act_min, hi = p->act_max;
    const int16_t *a = x;
    int32_t n = p->count;

#if NNCC_WIDE_MVE
    NNCC_WIDE_MAP_VECTORS(nncc_wide_clamp8(u, lo, hi));
#else
    NNCC_WIDE_EACH_SHORT(u < lo ? lo : (u > hi ? hi : u), r);
#endif
}
