/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_dots_s8: two rows of inputs at a time times pairs of channels; 8 instructions for 4 products of a single row
 * by one channel. */
#include "nncc_dsp_dots_rows.h"

/* The rows times a channel by itself. */
static void one_channel(const nncc_dsp_dots_params *p, const int8_t *x, const int32_t *head, int8_t *y)
{
    const nncc_dsp_dots_channel h = nncc_dsp_dots_head(p, head);
    const int32_t fours = p->in_c >> 2, left = p->in_c & 3, in_pitch = p->in_pitch, out_pitch = p->out_pitch;
    int32_t rows = p->rows;

    for (; rows > 1; rows -= 2) {
        const int32_t *const w = head + NNCC_DSP_DOTS_HEAD, *const end = w + 2 * fours;
        const int8_t *const below = x + in_pitch;
        int32_t sums[2] = {h.start, h.start};

        nncc_dsp_dots_two_by_one(x, below, w, fours, sums);
        nncc_dsp_dots_store(&h, nncc_dsp_dots_rest(x + 4 * fours, end, left, sums[0]), y);
        nncc_dsp_dots_store(&h, nncc_dsp_dots_rest(below + 4 * fours, end, left, sums[1]), y + out_pitch);
        x += 2 * in_pitch;
        y += 2 * out_pitch;
    }
    if (rows > 0) {
        const int32_t *w = head + NNCC_DSP_DOTS_HEAD;
        int32_t a = h.start;

        NNCC_ROLLED
        for (int32_t k = fours; k > 0; k--) {
            const uint32_t v = nncc_load_word(x);

            a = nncc_dual_add(a, nncc_even_bytes(v), (uint32_t)w[0]);
            a = nncc_dual_add(a, nncc_odd_bytes(v), (uint32_t)w[1]);
            x += 4;
            w += 2;
        }
        nncc_dsp_dots_store(&h, nncc_dsp_dots_rest(x, w, left, a), y);
    }
}

/* The sums of a row by two channels. */
static void one_by_two(const int8_t *x, const int32_t *w, int32_t fours, int32_t sums[4])
{
    int32_t a = sums[0], b = sums[1];

    NNCC_ROLLED
    for (; fours > 0; fours--) {
        const uint32_t v = nncc_load_word(x), even = nncc_even_bytes(v), odd = nncc_odd_bytes(v);

        a = nncc_dual_add(a, even, (uint32_t)w[0]);
        b = nncc_dual_add(b, even, (uint32_t)w[1]);
        a = nncc_dual_add(a, odd, (uint32_t)w[2]);
        b = nncc_dual_add(b, odd, (uint32_t)w[3]);
        x += 4;
        w += 4;
    }
    sums[0] = a;
    sums[1] = b;
}

/* The rows times a pair of channels. */
static void two_channels(const nncc_dsp_dots_params *p, const int8_t *x, const int32_t *head, int8_t *y)
{
    const nncc_dsp_dots_channel h = nncc_dsp_dots_head(p, head);
    const nncc_dsp_dots_channel g = nncc_dsp_dots_head(p, head + NNCC_DSP_DOTS_HEAD);
    const int32_t fours = p->in_c >> 2, left = p->in_c & 3, out_pitch = p->out_pitch;
    const int32_t *const w = head + 2 * NNCC_DSP_DOTS_HEAD, *const end = w + 4 * fours;

    for (int32_t rows = p->rows; rows > 0; rows -= 2) {
        const int8_t *const below = x + p->in_pitch;
        int32_t sums[4] = {h.start, g.start, h.start, g.start};

        if (rows > 1) {
            nncc_dsp_dots_two_by_two(x, below, w, fours, sums);
        } else {
            one_by_two(x, w, fours, sums);
        }
        if (left > 0) {
            sums[0] = nncc_dsp_dots_rest(x + 4 * fours, end, left, sums[0]);
            sums[1] = nncc_dsp_dots_rest(x + 4 * fours, end + 1, left, sums[1]);
            if (rows > 1) {
                sums[2] = nncc_dsp_dots_rest(below + 4 * fours, end, left, sums[2]);
                sums[3] = nncc_dsp_dots_rest(below + 4 * fours, end + 1, left, sums[3]);
            }
        }
        nncc_dsp_dots_store(&h, sums[0], y);
        nncc_dsp_dots_store(&g, sums[1], y + 1);
        if (rows > 1) {
            nncc_dsp_dots_store(&h, sums[2], y + out_pitch);
            nncc_dsp_dots_store(&g, sums[3], y + out_pitch + 1);
        }
        x += 2 * p->in_pitch;
        y += 2 * out_pitch;
    }
}

void nncc_dsp_dots_s8(const nncc_dsp_dots_params *p, const int8_t *x, const int32_t *w, int8_t *y)
{
    const int32_t words = (p->in_c >> 2) * 2 + ((p->in_c & 3) != 0 ? 1 : 0) + NNCC_DSP_DOTS_HEAD;
    int32_t c = 0;

    for (; c + 1 < p->out_c; c += 2) {
        two_channels(p, x, w, y + c);
        w += 2 * words;
    }
    if (c < p->out_c) {
        one_channel(p, x, w, y + c);
    }
}
