/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_bcast_s8.h"

void nncc_sum_s8(const nncc_sum_s8_params *p, const int8_t *a, const int8_t *b, const int32_t *table_a,
                 const int32_t *table_b, int8_t *y)
{
    const int32_t shift = p->shift;
    const int32_t lo = p->act_min;
    const int32_t hi = p->act_max;
    int32_t s;

    NNCC_FOR_PAIRS(&p->bcast, int8_t, a, b, s = (table_a[(uint8_t)u] + table_b[(uint8_t)v]) >> shift;
                   *y++ = (int8_t)(s < lo ? lo : (s > hi ? hi : s)));
}
