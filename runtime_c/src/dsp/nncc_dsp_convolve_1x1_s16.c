/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_channels_s16.h"

/* Bytes from the first row to row i. */
static inline int32_t nncc_place16(const nncc_dsp_fully_connected16_params *p, int32_t i)
{
    return i * p->in_pitch + (p->line > 0 ? i / p->line * p->skip : 0);
}

/* Rows that are left in the line of row i, 0: no lines. */
static inline int32_t nncc_left16(const nncc_dsp_fully_connected16_params *p, int32_t i)
{
    return p->line > 0 ? p->line - i % p->line : 0;
}

void nncc_dsp_convolve_1x1_s16(const nncc_dsp_fully_connected16_params *p, nncc_dsp_matmul16_fn *mat,
                               nncc_dsp_matmul16_fn *threes, const int8_t *x, const int32_t *w, int8_t *y,
                               int32_t *scratch)
{
    nncc_dsp_quads16_params m = {p->out_c,  p->pairs,  p->act_min, p->act_max, -p->rows & 3, p->in_c, scratch,
                                 {0, 0, 0}, {0, 0, 0}, 3,          p->line,    p->line,      p->skip};
    int32_t done = 0, rest;

    if (NNCC_DSP_ASM && threes != NULL) { /* C has no registers for three pixels */
        nncc_dsp_places16(m.in, 3, p->in_pitch);
        nncc_dsp_places16(m.out, 3, p->out_pitch);
        threes(&m, x, w, y);
        done = 3 * m.quads;
    }
    m.quads = (p->rows - done) >> 2;
    m.pixels = 4;
    if (m.quads > 0) {
        nncc_dsp_places16(m.in, 4, p->in_pitch);
        nncc_dsp_places16(m.out, 4, p->out_pitch);
        m.left = nncc_left16(p, done);
        mat(&m, x + nncc_place16(p, done), w, y + done * p->out_pitch);
        done += 4 * m.quads;
    }
    rest = p->rows - done;
    if (rest > 0) {
        const int32_t at = nncc_place16(p, done);

        m.quads = 1;
        m.pixels = rest;
        m.left = 0;
        for (int32_t i = 0; i < 3; i++) {
            m.in[i] = nncc_place16(p, done + (i + 1 < rest ? i + 1 : rest - 1)) - at;
        }
        nncc_dsp_places16(m.out, rest, p->out_pitch);
        mat(&m, x + at, w, y + done * p->out_pitch);
    }
}
