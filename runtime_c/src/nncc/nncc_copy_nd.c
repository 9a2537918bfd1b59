/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_move.h"
#include "nncc_run.h"

/* The three innermost dimensions are one call, the others are counted. */
void nncc_copy_nd(const nncc_copy_nd_params *p, const void *x, void *y)
{
    const int32_t inner = p->rank - 1;
    const int32_t *const dims = p->dims + inner, *const x_stride = p->x_stride + inner,
                         *const y_stride = p->y_stride + inner;
    nncc_runs_params q = {dims[0], x_stride[0], y_stride[0], 1, 0, 0, p->elem, 1, 0, 0};
    int32_t index[NNCC_MAX_DIMS];
    int32_t ix = p->x_offset;
    int32_t iy = p->y_offset;
    int32_t d;

    if (inner > 0) {
        q.rows = dims[-1];
        q.x_row = x_stride[-1];
        q.y_row = y_stride[-1];
    }
    if (inner > 1) {
        q.planes = dims[-2];
        q.x_plane = x_stride[-2];
        q.y_plane = y_stride[-2];
    }
    for (d = inner - 3; d >= 0; d--) {
        index[d] = 0;
    }
    do {
        nncc_runs(&q, (const uint8_t *)x + ix * p->elem, (uint8_t *)y + iy * p->elem);
        for (d = inner - 3; d >= 0; d--) {
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
