/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_core.h"

/* All channels of a row, the ones that are no multiple of four first. */
static void nncc_row16(nncc_dsp_matmul16_params *m, int32_t out_c, int32_t words, const int32_t *x, const int32_t *w,
                       int8_t *y)
{
    const int32_t rest = out_c & 3;
    int8_t four[8];

    if (rest != 0) {
        m->groups = 1;
        nncc_dsp_matmul_1row_s16(m, x, w, four);
        memcpy(y, four, 2 * (size_t)rest);
        w += words;
        y += 2 * rest;
    }
    m->groups = out_c >> 2;
    if (m->groups > 0) {
        nncc_dsp_matmul_1row_s16(m, x, w, y);
    }
}

void nncc_dsp_fully_connected_s16(const nncc_dsp_fully_connected16_params *p, const int8_t *x, const int32_t *w,
                                  int8_t *y, int32_t *scratch)
{
    nncc_dsp_matmul16_params m = {0, p->pairs, 0, p->act_min, p->act_max};

    memset((int8_t *)scratch + 2 * p->in_c, 0, (size_t)(4 * p->pairs - 2 * p->in_c));
    for (int32_t row = 0; row < p->rows; row++) {
        memcpy(scratch, x, 2 * (size_t)p->in_c);
        nncc_row16(&m, p->out_c, p->group_words, scratch, w, y);
        x += p->in_pitch;
        y += p->out_pitch;
    }
}
