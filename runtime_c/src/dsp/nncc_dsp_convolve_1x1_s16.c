/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_channels_s16.h"

void nncc_dsp_convolve_1x1_s16(const nncc_dsp_fully_connected16_params *p, nncc_dsp_matmul16_fn *mat, const int8_t *x,
                               const int32_t *w, int8_t *y, int32_t *scratch)
{
    nncc_dsp_quads16_params m = {p->out_c, p->pairs, p->act_min, p->act_max, p->rows >> 2,
                                 p->in_c,  scratch,  {0, 0, 0},  {0, 0, 0},  4};
    const int32_t rest = p->rows & 3;

    if (m.quads > 0) {
        nncc_dsp_places16(m.in, 4, p->in_pitch);
        nncc_dsp_places16(m.out, 4, p->out_pitch);
        mat(&m, x, w, y);
    }
    if (rest > 0) {
        x += 4 * m.quads * p->in_pitch;
        y += 4 * m.quads * p->out_pitch;
        m.quads = 1;
        m.pixels = rest;
        nncc_dsp_places16(m.in, rest, p->in_pitch);
        nncc_dsp_places16(m.out, rest, p->out_pitch);
        mat(&m, x, w, y);
    }
}
