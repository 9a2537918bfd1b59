/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_channels_s16.h: four pixels of int16 and all output channels. */
#ifndef NNCC_DSP_CHANNELS_S16_H
#define NNCC_DSP_CHANNELS_S16_H

#include "nncc_dsp_core.h"

/* Row i, at least 2, of four, of which `count` are wanted, or NULL: products with the DSP extension read all of them.
 */
static inline const int8_t *nncc_dsp_wanted16(int32_t count, int32_t i, const int8_t *row)
{
#if NNCC_DSP_ASM || NNCC_DSP_ACLE
    (void)count;
    (void)i;
    return row;
#else
    return i < count ? row : NULL;
#endif
}

/* Two inputs at any even address. */
static inline int32_t nncc_dsp_two_inputs(const int8_t *x)
{
#if NNCC_THUMB1
    const int16_t *const half = (const int16_t *)(const void *)x;

    return nncc_dsp_pair(half[0], half[1]);
#else
    return nncc_dsp_load4(x);
#endif
}

/* A single channel in front of pairs of them, each of so many words of weights: what is stored behind it, the next
 * group writes over. */
static inline void nncc_dsp_channels16(nncc_dsp_matmul16_fn *mat, nncc_dsp_matmul16_params *m, int32_t out_c,
                                       int32_t words, const int32_t *x, const int32_t *w, int8_t *y)
{
    if ((out_c & 1) != 0) {
        m->groups = 1;
        m->channels = 1;
        mat(m, x, w, y);
        w += words;
        y += 2;
    }
    m->groups = out_c >> 1;
    m->channels = 2;
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

    m->pixels = pixels;
    if (pixels == 4 && out_c > 1) {
        nncc_dsp_channels16(mat, m, out_c, words, x, w, y);
        return;
    }
    m->y_step = 2 * ((out_c + 1) & -2);
    nncc_dsp_channels16(mat, m, out_c, words, x, w, room);
    for (int32_t px = 0; px < pixels; px++) {
        const int16_t *const from = (const int16_t *)(const void *)(room + px * m->y_step);
        int16_t *const to = (int16_t *)(void *)(y + px * step);

        for (int32_t c = 0; c < out_c; c++) {
            to[c] = from[c];
        }
    }
    m->y_step = step;
}

#endif /* NNCC_DSP_CHANNELS_S16_H */
