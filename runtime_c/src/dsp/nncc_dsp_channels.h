/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_channels.h: one or two pixels and all output channels. */
#include "nncc_dsp_core.h"

/*
 * As many pixels (1 or 2) as mat takes, in x, times the weights of all out_c channels, in groups of words each. A group
 * that is not whole comes first and the next one writes over what it has too much; below four channels it goes through
 * memory of its own.
 */
static inline void nncc_dsp_channels(nncc_dsp_matmul_fn *mat, nncc_dsp_matmul_params *m, int32_t pixels, int32_t out_c,
                                     int32_t words, const void *x, const int32_t *w, int8_t *y)
{
    const int32_t rest = out_c & 3;

    if (rest != 0) {
        const int32_t step = m->y_step;
        int8_t t[8], *to = y;

        m->groups = 1;
        m->lanes = rest;
        if (out_c < 4) {
            m->y_step = 4;
            to = t;
        }
        mat(m, x, w, to);
        if (out_c < 4) {
            m->y_step = step;
            for (int32_t px = 0; px < pixels; px++) {
                for (int32_t c = 0; c < out_c; c++) {
                    y[px * step + c] = t[4 * px + c];
                }
            }
            return;
        }
        w += words;
        y += rest;
    }
    m->groups = out_c >> 2;
    m->lanes = 4;
    mat(m, x, w, y);
}
