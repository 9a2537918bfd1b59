/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_convolve_s16: the windows of four output pixels side by side, multiplied by all output channels.
 *
 * A window is a list of runs of inputs: a kernel row of all its pixels, or one tap. Where all four windows lie inside
 * the image, runs are copied four at a time, else pixel by pixel, zeros where they stick out.
 */
#include "nncc_dsp_channels_s16.h"

/* The first tap of a window: its row and column in the image, which may be outside. */
typedef struct
{
    int32_t row, col;
} nncc_corner16;

static int nncc_inside16(const nncc_dsp_convolve16_params *p, const nncc_corner16 *c)
{
    return c->row >= 0 && c->col >= 0 && c->row + (p->kernel_h - 1) * p->dil_h < p->in_h &&
           c->col + (p->kernel_w - 1) * p->dil_w < p->in_w;
}

/* Windows of four pixels inside the image. */
static void nncc_gather16(const nncc_dsp_convolve16_params *p, const int8_t *x, const nncc_corner16 c[4], int32_t *to)
{
    const int32_t runs = p->merged ? 1 : p->kernel_w, length = p->merged ? p->kernel_w * p->depth : p->depth;
    const int32_t row = p->in_w * p->in_pitch, down = p->dil_h * row, right = p->dil_w * p->in_pitch;
    const int8_t *at[4];

    for (int32_t i = 0; i < 4; i++) {
        at[i] = x + c[i].row * row + c[i].col * p->in_pitch;
    }
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        for (int32_t r = 0; r < runs; r++) {
            const int32_t off = ky * down + r * right;

            to = nncc_dsp_interleave_4rows_s16(at[0] + off, at[1] + off, at[2] + off, at[3] + off, length, to);
        }
    }
}

/* n inputs from index `at` of a run on, as halves of every fourth word. */
static void nncc_halves16(const int8_t *x, int32_t at, int32_t n, int32_t *to)
{
    int32_t i = 0;

    if ((at & 1) == 0) {
        int32_t *word = to + 2 * at;

        for (; i + 2 <= n; i += 2) {
            memcpy(word, x + 2 * i, 4);
            word += 4;
        }
    }
    for (; i < n; i++) {
        memcpy((int8_t *)(to + 4 * ((at + i) >> 1)) + 2 * ((at + i) & 1), x + 2 * i, 2);
    }
}

/* The window of one pixel, as every fourth word. */
static void nncc_border16(const nncc_dsp_convolve16_params *p, const int8_t *x, const nncc_corner16 *c, int32_t *to)
{
    const int32_t run = p->merged ? (p->kernel_w * p->depth + 1) >> 1 : (p->depth + 1) >> 1; /* in words */

    for (int32_t k = 0; k < p->pairs; k++) {
        to[4 * k] = 0;
    }
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int32_t row = c->row + ky * p->dil_h;
        int32_t *const words = to + 4 * ky * run * (p->merged ? 1 : p->kernel_w);

        for (int32_t kx = 0; row >= 0 && row < p->in_h && kx < p->kernel_w; kx++) {
            const int32_t col = c->col + kx * p->dil_w;

            if (col >= 0 && col < p->in_w) {
                const int8_t *const tap = x + (row * p->in_w + col) * p->in_pitch;

                if (p->merged) {
                    nncc_halves16(tap, kx * p->depth, p->depth, words);
                } else {
                    nncc_halves16(tap, 0, p->depth, words + 4 * kx * run);
                }
            }
        }
    }
}

void nncc_dsp_convolve_s16(const nncc_dsp_convolve16_params *p, nncc_dsp_matmul16_fn *mat, const int8_t *x,
                           const int32_t *w, int8_t *y, int32_t *scratch)
{
    const int32_t pixels = p->out_h * p->out_w, out_depth = p->out_c / p->groups;
    const int32_t w_group = ((out_depth + 1) >> 1) * p->group_words;
    nncc_dsp_matmul16_params m = {0, p->pairs, p->out_pitch, p->act_min, p->act_max};
    int8_t *const room = (int8_t *)(scratch + 4 * p->pairs);

    for (int32_t n = 0; n < p->batches; n++) {
        int32_t oy = 0, ox = 0;

        for (int32_t i = 0; i < pixels; i += 4) {
            const int32_t count = pixels - i < 4 ? pixels - i : 4;
            nncc_corner16 c[4];
            int inside = 1;

            for (int32_t k = 0; k < 4; k++) { /* what is missing is the last pixel again */
                c[k].row = oy * p->stride_h - p->pad_h;
                c[k].col = ox * p->stride_w - p->pad_w;
                inside = inside && nncc_inside16(p, &c[k]);
                if (k + 1 < count || (k + 1 == count && count == 4)) {
                    ox++;
                    if (ox == p->out_w) {
                        ox = 0;
                        oy++;
                    }
                }
            }
            for (int32_t g = 0; g < p->groups; g++) {
                const int8_t *const from = x + 2 * g * p->depth;

                if (inside) {
                    nncc_gather16(p, from, c, scratch);
                } else {
                    for (int32_t k = 0; k < 4; k++) {
                        nncc_border16(p, from, &c[k], scratch + k);
                    }
                }
                nncc_dsp_pixels16(mat, &m, count, out_depth, p->group_words, scratch, w + g * w_group,
                                  y + 2 * g * out_depth, room);
            }
            y += count * p->out_pitch;
        }
        x += p->in_h * p->in_w * p->in_pitch;
    }
}
