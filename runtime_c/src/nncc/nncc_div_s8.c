/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_bcast_s8.h"

/* a - a_zero = d divided by the number that reciprocal r encodes, ties away from zero. */
static int32_t nncc_div_one(int32_t d, uint32_t r)
{
    const uint32_t shift = r & 63u;
    const uint32_t mant = (r & 0x7fffffffu) >> 6;
    const uint32_t size = (uint32_t)(d < 0 ? -d : d);
    const int32_t v = (int32_t)((size * mant + (1u << (shift - 1u))) >> shift);

    return (d < 0) != (r >> 31 != 0u) ? -v : v;
}

void nncc_div_s8(const nncc_div_s8_params *p, const int8_t *a, const int8_t *b, const uint32_t *reciprocal, int8_t *y)
{
    int32_t s;

    NNCC_FOR_PAIRS(&p->bcast, int8_t, a, b, s = nncc_div_one(u - p->a_zero, reciprocal[(uint8_t)v]) + p->out_zero;
                   *y++ = (int8_t)(s < p->act_min ? p->act_min : (s > p->act_max ? p->act_max : s)));
}
