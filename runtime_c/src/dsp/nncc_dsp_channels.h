/* nncc_dsp_channels.h: one or two pixels and all output channels. */
#ifndef NNCC_DSP_CHANNELS_H
#define NNCC_DSP_CHANNELS_H

#include "nncc_dsp_core.h"

/* A pixel times the weights of all out_c channels, in groups of words each. */
static inline void nncc_dsp_channels1(nncc_dsp_mat *mat, nncc_dsp_mat_params *m, int32_t out_c, int32_t words, const void *x,
                                      const int32_t *w, int8_t *y)
{
    const int32_t rest = out_c & 3;

    if (rest != 0) {
        m->groups = 1;
        m->lanes = rest;
        if (out_c < 4) {
            int8_t t[4];

            mat(m, x, w, t);
            for (int32_t c = 0; c < out_c; c++) {
                y[c] = t[c];
            }
            return;
        }
        mat(m, x, w, y);
        w += words;
        y += rest;
    }
    m->groups = out_c >> 2;
    m->lanes = 4;
    mat(m, x, w, y);
}

/* Both pixels times the weights of all out_c channels, in groups of words each. */
static inline void nncc_dsp_channels2(nncc_dsp_mat *mat, nncc_dsp_mat_params *m, int32_t out_c, int32_t words, const int32_t *x,
                                      const int32_t *w, int8_t *y)
{
    const int32_t rest = out_c & 3;

    if (rest != 0) {
        m->groups = 1;
        m->lanes = rest;
        if (out_c < 4) {
            int8_t t[8];
            const int32_t step = m->y_step;

            m->y_step = 4;
            mat(m, x, w, t);
            m->y_step = step;
            for (int32_t c = 0; c < out_c; c++) {
                y[step + c] = t[4 + c];
                y[c] = t[c];
            }
            return;
        }
        mat(m, x, w, y);
        w += words;
        y += rest;
    }
    m->groups = out_c >> 2;
    m->lanes = 4;
    mat(m, x, w, y);
}

#endif /* NNCC_DSP_CHANNELS_H */
