/* nncc_lines.h: applying a proven function of two straight lines. */
#ifndef NNCC_LINES_H
#define NNCC_LINES_H

#include "nncc_s16.h"

static inline int32_t nncc_lines_apply(const nncc_lines_params *p, int32_t q)
{
    const int64_t v =
        q >= p->split ? (q * p->pos_mult + p->pos_bias) >> p->pos_shift : (q * p->neg_mult + p->neg_bias) >> p->neg_shift;

    return v < p->act_min ? p->act_min : (v > p->act_max ? p->act_max : (int32_t)v);
}

#endif /* NNCC_LINES_H */
