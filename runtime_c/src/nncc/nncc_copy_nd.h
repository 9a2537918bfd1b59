/* nncc_copy_nd.h: for kernels that are built on nncc_copy_nd (nncc_copy_nd.c). */
#ifndef NNCC_COPY_ND_H
#define NNCC_COPY_ND_H

#include "nncc_move.h"

/* Sets the dense row-major strides of dims. */
static inline void nncc_dense_strides(int32_t rank, const int32_t *dims, int32_t *stride)
{
    int32_t s = 1;

    for (int32_t d = rank - 1; d >= 0; d--) {
        stride[d] = s;
        s *= dims[d];
    }
}

#endif /* NNCC_COPY_ND_H */
