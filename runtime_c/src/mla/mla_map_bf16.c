/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_map_bf16: element-wise operations of bfloat16. */
#include "mla_bf16.h"
#include "mla_kernels.h"
#include "nncc_bcast_s8.h"

void mla_binary_bf16(const mla_binary_bf16_params *p, const uint16_t *a, const uint16_t *b, uint16_t *y)
{
    const double sign = p->op == MLA_BF16_SUB ? -1.0 : 1.0;

    if (p->op == MLA_BF16_MUL) {
        NNCC_FOR_PAIRS(&p->bcast, uint16_t, a, b,
                       *y++ = mla_to_bf16(mla_within(mla_from_bf16(u) * mla_from_bf16(v), p->act_min, p->act_max)));
        return;
    }
    NNCC_FOR_PAIRS(&p->bcast, uint16_t, a, b,
                   *y++ = mla_to_bf16(mla_within(mla_from_bf16(u) + sign * mla_from_bf16(v), p->act_min, p->act_max)));
}

void mla_table_bf16(const nncc_count_params *p, const uint16_t *x, const uint16_t *table, uint16_t *y)
{
    for (int32_t i = 0; i < p->count; i++) {
        y[i] = table[x[i]];
    }
}

void mla_f32_to_bf16(const nncc_count_params *p, const float *x, uint16_t *y)
{
    for (int32_t i = 0; i < p->count; i++) {
        y[i] = mla_to_bf16((double)x[i]);
    }
}

void mla_bf16_to_f32(const nncc_count_params *p, const uint16_t *x, float *y)
{
    for (int32_t i = 0; i < p->count; i++) {
        y[i] = (float)mla_from_bf16(x[i]);
    }
}
