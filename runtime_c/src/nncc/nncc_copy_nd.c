/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_move.h"
#include "nncc_run.h"

/* The two innermost dimensions are one call, the others are counted. */
void nncc_copy_nd(const nncc_copy_nd_params *p, const void *x, void *y)
{
    const int32_t inner = p->rank - 1;
    const int32_t outer = p->rank > 1 ? p->rank - 2 : 0;
    int32_t index[NNCC_MAX_DIMS] = {0};
    int32_t ix = p->x_offset;
    int32_t iy = p->y_offset;
    int32_t d;
    nncc_runs_params q;

    q.n = p->dims[inner];
    q.x_stride = p->x_stride[inner];
    q.y_stride = p->y_stride[inner];
    q.rows = p->rank > 1 ? p->dims[outer] : 1;
    q.x_row = p->x_stride[outer];
    q.y_row = p->y_stride[outer];
    q.elem = p->elem;
    do {
        nncc_runs(&q, (const uint8_t *)x + ix * p->elem, (uint8_t *)y + iy * p->elem);
        for (d = outer - 1; d >= 0; d--) {
            ix += p->x_stride[d];
            iy += p->y_stride[d];
            index[d]++;
            if (index[d] < p->dims[d]) {
                break;
            }
            ix -= p->x_stride[d] * p->dims[d];
            iy -= p->y_stride[d] * p->dims[d];
            index[d] = 0;
        }
    } while (d >= 0);
}
