/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "mla_kernels.h"
#include "nncc_bcast_s8.h"
#include "nncc_requant.h"

void mla_mul(const mla_mul_params *p, const int8_t *a, const int8_t *b, int8_t *y)
{
    NNCC_FOR_PAIRS(&p->bcast, int8_t, a, b,
                   *y++ = nncc_rq_s8((uint32_t)((u + p->offset1) * (v + p->offset2)), p->mult, p->shift, p->out_offset,
                                     p->act_min, p->act_max));
}
