/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_widen_row.h"

void nncc_dsp_fully_connected_octets_s8(const nncc_dsp_fully_connected_params *p, const int8_t *x, const int32_t *w,
                                        int8_t *y, int32_t *scratch)
{
    const int32_t rest = p->out_c & 7;
    nncc_dsp_matmul_params m = {1, p->pairs, 0, p->positive, p->low, p->cap, 4, NULL};

    nncc_dsp_widen_row(x, p->in_c, p->pairs, scratch);
    if (rest != 0) { /* the next group writes over what this one has too much */
        nncc_dsp_matmul_1row_octets_s8(&m, scratch, w, y);
        w += p->group_words;
        y += rest;
    }
    m.groups = p->out_c >> 3;
    nncc_dsp_matmul_1row_octets_s8(&m, scratch, w, y);
}
