/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_piecewise_linear.h: applying a proven function of two straight lines. */
#include "nncc_s16.h"

static inline int32_t nncc_piecewise_linear_apply(const nncc_piecewise_linear_params *p, int32_t q)
{
    const int64_t v = q >= p->split ? (q * p->pos_mult + p->pos_bias) >> p->pos_shift
                                    : (q * p->neg_mult + p->neg_bias) >> p->neg_shift;

    return v < p->act_min ? p->act_min : (v > p->act_max ? p->act_max : (int32_t)v);
}
