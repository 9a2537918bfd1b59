/* nncc_bcast.h: walking two broadcast operands side by side (nncc_bcast.c). */
#ifndef NNCC_BCAST_H
#define NNCC_BCAST_H

#include "nncc.h"

/*
 * Moves to the next position of the outer `dims` dimensions: index counts them, *a and *b are the element offsets into
 * the operands. All start at 0. Returns 0 when every position has been visited.
 */
int32_t nncc_bcast_next(const nncc_bcast_params *p, int32_t dims, int32_t *index, int32_t *a, int32_t *b);

/*
 * Body of a kernel f(p, a, b, y): y = expr, where u and v are the elements of a and b, of type tin, in row-major order
 * of y. In place where that operand is not broadcast.
 */
#define NNCC_BINARY(tin, expr)                                      \
    do {                                                            \
        const int32_t inner = p->rank - 1;                          \
        const int32_t n = p->dims[inner];                           \
        const int32_t sa = p->a_stride[inner];                      \
        const int32_t sb = p->b_stride[inner];                      \
        int32_t index[NNCC_MAX_DIMS] = {0};                         \
        int32_t ia = 0;                                             \
        int32_t ib = 0;                                             \
                                                                    \
        do {                                                        \
            int32_t ja = ia;                                        \
            int32_t jb = ib;                                        \
                                                                    \
            for (int32_t i = 0; i < n; i++) {                       \
                const tin u = a[ja];                                \
                const tin v = b[jb];                                \
                                                                    \
                *y++ = (expr);                                      \
                ja += sa;                                           \
                jb += sb;                                           \
            }                                                       \
        } while (nncc_bcast_next(p, inner, index, &ia, &ib) != 0);  \
    } while (0)

#endif /* NNCC_BCAST_H */
