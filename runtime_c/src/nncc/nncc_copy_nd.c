#include "nncc_move.h"
#include "nncc_run.h"

void nncc_copy_nd(const nncc_copy_nd_params *p, const void *x, void *y)
{
    const int32_t inner = p->rank - 1;
    int32_t index[NNCC_MAX_DIMS] = {0};
    int32_t ix = p->x_offset;
    int32_t iy = p->y_offset;
    int32_t d;

    do {
        nncc_run((const uint8_t *)x + ix * p->elem, p->x_stride[inner], (uint8_t *)y + iy * p->elem, p->y_stride[inner],
                 p->dims[inner], p->elem);
        for (d = inner - 1; d >= 0; d--) {
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
