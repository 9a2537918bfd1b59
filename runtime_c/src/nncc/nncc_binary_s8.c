/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_bcast_s8.h"
#include "nncc_binary.h"
#include "nncc_round.h"

void nncc_binary_s8(const nncc_binary_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y)
{
    double s;

    NNCC_FOR_PAIRS(
        &p->bcast, int8_t, a, b,
        s = nncc_binary_f64(p->op, (double)(u - p->a_zero) * p->a_scale, (double)(v - p->b_zero) * p->b_scale);
        *y++ = (int8_t)nncc_round_away(s / p->out_scale, p->out_zero, p->act_min, p->act_max));
}
