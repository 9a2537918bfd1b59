/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_plain_dots_s8: two rows of inputs times two channels, four loads for four products; where there are two of one
 * only, or registers are few, two by one.
 */
#include "nncc_plain_dots.h"

static void one_channel(const nncc_dsp_dots_params *p, const int8_t *x, const int32_t *head, int8_t *y)
{
    const nncc_dsp_dots_channel h = nncc_dsp_dots_head(p, head);
    const int8_t *const w = (const int8_t *)(head + NNCC_DSP_DOTS_HEAD);
    int32_t rows = p->rows;

    for (; rows > 1; rows -= 2) {
        int32_t sums[2] = {h.start, h.start};

        nncc_plain_one_by_two(w, x, x + p->in_pitch, p->in_c, sums);
        nncc_dsp_dots_store(&h, sums[0], y);
        nncc_dsp_dots_store(&h, sums[1], y + p->out_pitch);
        x += 2 * p->in_pitch;
        y += 2 * p->out_pitch;
    }
    if (rows > 0) {
        nncc_dsp_dots_store(&h, nncc_plain_one_by_one(x, w, p->in_c, h.start), y);
    }
}

static void two_channels(const nncc_dsp_dots_params *p, const int8_t *x, const int32_t *head, int8_t *y)
{
    const nncc_dsp_dots_channel h = nncc_dsp_dots_head(p, head);
    const nncc_dsp_dots_channel g = nncc_dsp_dots_head(p, head + NNCC_DSP_DOTS_HEAD);
    const int8_t *const w = (const int8_t *)(head + 2 * NNCC_DSP_DOTS_HEAD);
    const int8_t *const next = w + ((p->in_c + 3) & ~3);
    int32_t rows = p->rows;

    for (; rows > 1; rows -= 2) {
        int32_t sums[4] = {h.start, g.start, h.start, g.start};

        nncc_plain_two_by_two(x, x + p->in_pitch, w, next, p->in_c, sums);
        nncc_dsp_dots_store(&h, sums[0], y);
        nncc_dsp_dots_store(&g, sums[1], y + 1);
        nncc_dsp_dots_store(&h, sums[2], y + p->out_pitch);
        nncc_dsp_dots_store(&g, sums[3], y + p->out_pitch + 1);
        x += 2 * p->in_pitch;
        y += 2 * p->out_pitch;
    }
    if (rows > 0) {
        int32_t sums[2] = {h.start, g.start};

        nncc_plain_one_by_two(x, w, next, p->in_c, sums);
        nncc_dsp_dots_store(&h, sums[0], y);
        nncc_dsp_dots_store(&g, sums[1], y + 1);
    }
}

void nncc_plain_dots_s8(const nncc_dsp_dots_params *p, const int8_t *x, const int32_t *w, int8_t *y)
{
    const int32_t words = ((p->in_c + 3) >> 2) + NNCC_DSP_DOTS_HEAD;
    int32_t c = 0;

    for (; c + 1 < p->out_c; c += 2) {
        two_channels(p, x, w, y + c);
        w += 2 * words;
    }
    if (c < p->out_c) {
        one_channel(p, x, w, y + c);
    }
}
