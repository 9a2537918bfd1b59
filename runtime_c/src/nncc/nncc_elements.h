/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_elements.h: the walk shared by GatherElements and ScatterElements. */
#include "nncc_index.h"
#include "nncc_move.h"
#include "nncc_run.h"

/* Copies between `data` (strided by p) and `list` (dense, shaped like the indices): to the list, or from it. */
static inline nncc_status nncc_elements(const nncc_gather_elements_params *p, const void *indices, const uint8_t *from,
                                        uint8_t *to, int32_t scatter)
{
    int32_t index[NNCC_MAX_DIMS] = {0};
    int32_t i = 0;
    int32_t d;

    do {
        int32_t at = nncc_index(indices, i, p->index_bytes, p->axis_len);

        if (at < 0) {
            return NNCC_ERR_INDEX;
        }
        at *= p->x_stride[p->axis];
        for (d = 0; d < p->rank; d++) {
            if (d != p->axis) {
                at += index[d] * p->x_stride[d];
            }
        }
        nncc_run(from + (scatter != 0 ? i : at) * p->elem, 1, to + (scatter != 0 ? at : i) * p->elem, 1, 1, p->elem);
        i++;
        for (d = p->rank - 1; d >= 0; d--) {
            index[d]++;
            if (index[d] < p->dims[d]) {
                break;
            }
            index[d] = 0;
        }
    } while (d >= 0);
    return NNCC_OK;
}
