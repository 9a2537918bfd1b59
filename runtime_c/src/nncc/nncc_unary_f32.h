/* nncc_unary_f32.h: the loop of the element-wise float32 kernels with one input. */
#ifndef NNCC_UNARY_F32_H
#define NNCC_UNARY_F32_H

#include "nncc_element_f32.h"
#include "nncc_f32.h"

/* Body of a kernel f(p, x, y): y = expr, a function of v, the input element, and of p->alpha, p->beta. */
#define NNCC_UNARY_F32(expr)                \
    do {                                    \
        const int32_t n = p->count;         \
                                            \
        for (int32_t i = 0; i < n; i++) {   \
            const float v = x[i];           \
                                            \
            y[i] = (expr);                  \
        }                                   \
    } while (0)

#endif /* NNCC_UNARY_F32_H */
