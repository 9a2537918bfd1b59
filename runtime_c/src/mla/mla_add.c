/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "mla_kernels.h"
#include "nncc_bcast_s8.h"
#include "nncc_requant.h"

void mla_add(const mla_add_params *p, const int8_t *a, const int8_t *b, int8_t *y)
{
    const int32_t left = p->left_shift;

    NNCC_FOR_PAIRS(
        &p->bcast, int8_t, a, b,
        *y++ = nncc_rq_s8((uint32_t)nncc_rq((int32_t)((uint32_t)(u + p->offset1) << left), p->mult1, p->shift1) +
                              (uint32_t)nncc_rq((int32_t)((uint32_t)(v + p->offset2) << left), p->mult2, p->shift2),
                          p->out_mult, p->out_shift, p->out_offset, p->act_min, p->act_max));
}
