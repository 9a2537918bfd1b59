/* nncc_reduce_f32.h: the loop of the float32 reductions. */
#ifndef NNCC_REDUCE_F32_H
#define NNCC_REDUCE_F32_H

#include "nncc_f32.h"

/*
 * Body of a reduction f(p, x, y) over the middle axis: s starts as `start` (v: the first element), takes `step` for
 * every element v, and y = `finish`.
 */
#define NNCC_REDUCE_F32(start, step, finish)                    \
    do {                                                        \
        const int32_t span = p->axis * p->inner;                \
                                                                \
        for (int32_t o = 0; o < p->outer; o++) {                \
            for (int32_t i = 0; i < p->inner; i++) {            \
                float v = x[i];                                 \
                float s = (start);                              \
                                                                \
                for (int32_t k = i; k < span; k += p->inner) {  \
                    v = x[k];                                   \
                    s = (step);                                 \
                }                                               \
                *y++ = (finish);                                \
            }                                                   \
            x += span;                                          \
        }                                                       \
    } while (0)

#endif /* NNCC_REDUCE_F32_H */
