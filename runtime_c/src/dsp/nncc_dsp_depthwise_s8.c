/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_s8: pixel by pixel, the taps by their offsets from the window. Taps in the padding are those of a
 * constant pixel. Where input channels have several outputs, the first ones of all are computed, then the second ones.
 */
#include "nncc_dsp_core.h"

/* Offsets of taps that are rows and columns apart by so many bytes. */
static void fill_offsets(const nncc_dsp_depthwise_params *p, int32_t row, int32_t col, int32_t *offsets)
{
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            *offsets++ = ky * row + kx * col;
        }
    }
}

/* Offsets from x of the window at (row, col); padding lies in the same array. */
static void border_offsets(const nncc_dsp_depthwise_params *p, const int8_t *x, const int8_t *pad, int32_t row,
                           int32_t col, int32_t *offsets)
{
    const int32_t outside = (int32_t)((intptr_t)pad - (intptr_t)x);
    const int32_t step = p->dil_w * p->in_c;

    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int32_t in = row >= 0 && row < p->in_h;
        int32_t i = col, at = (row * p->in_w + col) * p->in_c;

        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            *offsets++ = in && i >= 0 && i < p->in_w ? at : outside;
            i += p->dil_w;
            at += step;
        }
        row += p->dil_h;
    }
}

/* The taps one behind the other: fewer channels than a word has, at the end of the tensor. */
static void copy_window(const nncc_dsp_depthwise_params *p, const int8_t *x, int32_t *offsets, int8_t *to)
{
    int32_t at = 0;

    for (int32_t *const end = offsets + p->kernel_h * p->kernel_w; offsets < end; offsets++) {
        const int8_t *from = x + *offsets;

        *offsets = at;
        for (int32_t c = p->in_c; c > 0; c--) {
            to[at++] = *from++;
        }
    }
}

void nncc_dsp_depthwise_s8(const nncc_dsp_depthwise_params *p, nncc_dsp_depthwise_pixel_fn *fn, const int8_t *x,
                           const int32_t *w, int8_t *y, int32_t *scratch)
{
    const int32_t taps = p->kernel_h * p->kernel_w, in_c = p->in_c, times = p->channels / in_c;
    const int32_t row_end = p->in_h - (p->kernel_h - 1) * p->dil_h, col_end = p->in_w - (p->kernel_w - 1) * p->dil_w;
    const nncc_dsp_depthwise_pixel_params t = {taps, in_c < 4 ? 4 : in_c, p->low, p->cap, in_c < 4 ? in_c : 4};
    int32_t *const others = scratch + taps; /* offsets of windows that reach into the padding */
    int8_t *const pad = (int8_t *)(others + taps), *const few = pad + p->pad_bytes, *const window = few + p->pad_bytes;

    fill_offsets(p, p->dil_h * p->in_w * in_c, p->dil_w * in_c, scratch);
    memset(pad, p->pad, (size_t)p->pad_bytes);
    for (int32_t n = 1; n <= p->batches; n++) {
        int32_t row = -p->pad_h;

        for (int32_t oy = 0; oy < p->out_h; oy++) {
            int32_t col = -p->pad_w;
            int8_t *pixel = y + oy * p->out_row;

            for (int32_t ox = 0; ox < p->out_w; ox++) {
                const int32_t *offsets = scratch, *weights = w;
                const int8_t *from = x + (row * p->in_w + col) * in_c;

                if (row < 0 || row >= row_end || col < 0 || col >= col_end) {
                    border_offsets(p, x, pad, row, col, others);
                    offsets = others;
                    from = x;
                }
                if (in_c < 4 && n == p->batches && row + 1 >= row_end && col + 1 >= col_end) {
                    border_offsets(p, x, pad, row, col, others);
                    copy_window(p, x, others, window);
                    offsets = others;
                    from = window;
                }
                if (times == 1 && in_c >= 4) {
                    fn(&t, offsets, weights, from, pixel);
                } else {
                    for (int8_t *first = pixel; first < pixel + times; first++) {
                        int8_t *to = first;

                        fn(&t, offsets, weights, from, few);
                        weights += p->group_words * ((in_c + 3) >> 2);
                        for (int32_t c = 0; c < in_c; c++) {
                            *to = few[c];
                            to += times;
                        }
                    }
                }
                col += p->stride_w;
                pixel += p->out_pitch;
            }
            row += p->stride_h;
        }
        x += p->in_h * p->in_w * in_c;
        y += p->out_image;
    }
}
