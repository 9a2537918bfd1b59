#include "nncc_copy_nd.h"

void nncc_slice(const nncc_slice_params *p, const void *x, void *y)
{
    nncc_copy_nd_params q = {0};
    int32_t in_stride[NNCC_MAX_DIMS];

    nncc_dense_strides(p->rank, p->in_dims, in_stride);
    q.elem = p->elem;
    q.rank = p->rank;
    for (int32_t d = 0; d < p->rank; d++) {
        q.dims[d] = p->out_dims[d];
        q.x_stride[d] = in_stride[d] * p->step[d];
        q.x_offset += in_stride[d] * p->start[d];
    }
    nncc_dense_strides(p->rank, q.dims, q.y_stride);
    nncc_copy_nd(&q, x, y);
}
