/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_channels_s16.h"

/* Bytes from the first row to row i. */
static inline int32_t nncc_place16(const nncc_dsp_fully_connected16_params *p, int32_t i)
{
    return i * p->in_pitch + (p->line > 0 ? i / p->line * p->skip : 0);
}

void nncc_dsp_convolve_1x1_s16(const nncc_dsp_fully_connected16_params *p, nncc_dsp_matmul16_fn *mat, const int8_t *x,
                               const int32_t *w, int8_t *y, int32_t *scratch)
{
    nncc_dsp_quads16_params m = {p->out_c, p->pairs,  p->act_min, p->act_max, p->rows >> 2, p->in_c,
                                 scratch,  {0, 0, 0}, {0, 0, 0},  4,          p->line,      p->skip};
    const int32_t rest = p->rows & 3;

    if (m.quads > 0) {
        nncc_dsp_places16(m.in, 4, p->in_pitch);
        nncc_dsp_places16(m.out, 4, p->out_pitch);
        mat(&m, x, w, y);
    }
    if (rest > 0) {
        const int32_t done = 4 * m.quads, at = nncc_place16(p, done);

        y += done * p->out_pitch;
        m.quads = 1;
        m.pixels = rest;
        m.line = 0;
        for (int32_t i = 0; i < 3; i++) {
            m.in[i] = nncc_place16(p, done + (i + 1 < rest ? i + 1 : rest - 1)) - at;
        }
        nncc_dsp_places16(m.out, rest, p->out_pitch);
        mat(&m, x + at, w, y);
    }
}
