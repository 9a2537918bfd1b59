/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_elements.h: the walk shared by GatherElements and ScatterElements. */
#include "nncc_copy.h"
#include "nncc_index.h"
#include "nncc_move.h"

/* Copies between `data` (strided by p) and `list` (dense, shaped like the indices): to the list, or from it. */
static inline nncc_status nncc_elements(const nncc_gather_elements_params *p, const void *indices, const uint8_t *from,
                                        uint8_t *to, int32_t scatter)
{
    int32_t index[NNCC_MAX_DIMS] = {0};
    const int32_t elem = p->elem, last = p->rank - 1;
    const int32_t stride = p->x_stride[p->axis] * elem, step = last == p->axis ? 0 : p->x_stride[last] * elem;
    int32_t base = 0; /* where an element is that has the index 0 along the axis */
    int32_t i = 0, d;

    do {
        int32_t there = base;

        for (const int32_t end = i + p->dims[last]; i < end; i++) {
            const int32_t at = nncc_index(indices, i, p->index_bytes, p->axis_len);

            if (at < 0) {
                return NNCC_ERR_INDEX;
            }
            const uint8_t *x = from + (scatter != 0 ? i * elem : there + at * stride);
            uint8_t *y = to + (scatter != 0 ? there + at * stride : i * elem);

            if (elem == 4) {
                *(nncc_any32 *)(void *)y = *(const nncc_any32 *)(const void *)x;
            } else {
                for (int32_t k = 0; k < elem; k++) {
                    y[k] = x[k];
                }
            }
            there += step;
        }
        for (d = last - 1; d >= 0; d--) {
            const int32_t by = d == p->axis ? 0 : p->x_stride[d] * elem;

            index[d]++;
            base += by;
            if (index[d] < p->dims[d]) {
                break;
            }
            base -= p->dims[d] * by;
            index[d] = 0;
        }
    } while (d >= 0);
    return NNCC_OK;
}
