#include "nncc_copy_nd.h"

void nncc_transpose(const nncc_transpose_params *p, const void *x, void *y)
{
    nncc_copy_nd_params q = {0};
    int32_t in_stride[NNCC_MAX_DIMS];
    int32_t rank = 0;

    nncc_dense_strides(p->rank, p->in_dims, in_stride);
    for (int32_t d = 0; d < p->rank; d++) {
        const int32_t from = p->perm[d];

        /* Dimensions that stay neighbours are one dimension: longer dense runs. */
        if (d > 0 && from == p->perm[d - 1] + 1) {
            q.dims[rank - 1] *= p->in_dims[from];
            q.x_stride[rank - 1] = in_stride[from];
        } else {
            q.dims[rank] = p->in_dims[from];
            q.x_stride[rank] = in_stride[from];
            rank++;
        }
    }
    q.elem = p->elem;
    q.rank = rank;
    nncc_dense_strides(rank, q.dims, q.y_stride);
    nncc_copy_nd(&q, x, y);
}
