/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_channels_s16.h: four pixels of int16 and all output channels. */
#ifndef NNCC_DSP_CHANNELS_S16_H
#define NNCC_DSP_CHANNELS_S16_H

#include "nncc_dsp_core.h"

/* A single channel in front of pairs of them, each of so many words of weights: what is stored behind it, the next
 * group writes over. */
static inline void nncc_dsp_channels16(nncc_dsp_matmul16_fn *mat, nncc_dsp_matmul16_params *m, int32_t out_c,
                                       int32_t words, const int32_t *x, const int32_t *w, int8_t *y)
{
    if ((out_c & 1) != 0) {
        m->groups = 1;
        mat(m, x, w, y);
        w += words;
        y += 2;
    }
    m->groups = out_c >> 1;
    if (m->groups > 0) {
        mat(m, x, w, y);
    }
}

/* The same where fewer than four pixels count, or one channel is all: through room for four pixels. */
static inline void nncc_dsp_pixels16(nncc_dsp_matmul16_fn *mat, nncc_dsp_matmul16_params *m, int32_t pixels,
                                     int32_t out_c, int32_t words, const int32_t *x, const int32_t *w, int8_t *y,
                                     int8_t *room)
{
    const int32_t step = m->y_step;

    if (pixels == 4 && out_c > 1) {
        nncc_dsp_channels16(mat, m, out_c, words, x, w, y);
        return;
    }
    m->y_step = 2 * ((out_c + 1) & -2);
    nncc_dsp_channels16(mat, m, out_c, words, x, w, room);
    for (int32_t px = 0; px < pixels; px++) {
        memcpy(y + px * step, room + px * m->y_step, 2 * (size_t)out_c);
    }
    m->y_step = step;
}

#endif /* NNCC_DSP_CHANNELS_S16_H */
