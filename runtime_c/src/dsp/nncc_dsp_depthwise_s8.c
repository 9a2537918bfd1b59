/*
 * nncc_dsp_depthwise_s8: pixel by pixel, the taps by their offsets from the window. Windows that reach into the padding are
 * copied first, with the padding.
 */
#include "nncc_dsp_core.h"

/* Offsets of the taps of a window: rows and columns apart by so many bytes. */
static void fill_offsets(const nncc_dsp_depthwise_params *p, int32_t row, int32_t col, int32_t *offsets)
{
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            *offsets++ = ky * row + kx * col;
        }
    }
}

static void copy_pixel(const int8_t *x, int32_t n, int8_t *to)
{
    int32_t i = 0;

    for (; i + 4 <= n; i += 4) {
        memcpy(to + i, x + i, 4);
    }
    for (; i < n; i++) {
        to[i] = x[i];
    }
}

/* The taps of the window at (row, col), one behind the other. */
static void copy_window(const nncc_dsp_depthwise_params *p, const int8_t *x, int32_t row, int32_t col, int8_t *to)
{
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int32_t y = row + ky * p->dil_h;

        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            const int32_t i = col + kx * p->dil_w;

            if (y < 0 || y >= p->in_h || i < 0 || i >= p->in_w) {
                memset(to, p->pad, (size_t)p->channels);
            } else {
                copy_pixel(x + (y * p->in_w + i) * p->channels, p->channels, to);
            }
            to += p->channels;
        }
    }
}

/* All channels of a pixel; the last two groups overlap where the channels are no multiple of four. */
static void pixel(const nncc_dsp_depthwise_params *p, nncc_dsp_taps *fn, nncc_dsp_taps_params *t, const int32_t *offsets,
                  const int32_t *w, const int8_t *x, int8_t *y)
{
    const int32_t channels = p->channels;

    t->groups = channels >> 2;
    fn(t, offsets, w, x, y);
    if ((channels & 3) != 0) {
        w += t->groups * p->group_words;
        t->groups = 1;
        fn(t, offsets, w, x + channels - 4, y + channels - 4);
    }
}

void nncc_dsp_depthwise_s8(const nncc_dsp_depthwise_params *p, nncc_dsp_taps *fn, const int8_t *x, const int32_t *w,
                           int8_t *y, int32_t *scratch)
{
    const int32_t taps = p->kernel_h * p->kernel_w;
    const int32_t row_end = p->in_h - (p->kernel_h - 1) * p->dil_h, col_end = p->in_w - (p->kernel_w - 1) * p->dil_w;
    nncc_dsp_taps_params t = {taps, 0, p->low, p->cap};
    int32_t *const copied = scratch + taps;
    int8_t *const window = (int8_t *)(copied + taps);

    fill_offsets(p, p->dil_h * p->in_w * p->channels, p->dil_w * p->channels, scratch);
    fill_offsets(p, p->kernel_w * p->channels, p->channels, copied);
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            const int32_t row = oy * p->stride_h - p->pad_h;
            int32_t col = -p->pad_w;

            for (int32_t ox = 0; ox < p->out_w; ox++) {
                if (row >= 0 && row < row_end && col >= 0 && col < col_end) {
                    pixel(p, fn, &t, scratch, w, x + (row * p->in_w + col) * p->channels, y);
                } else {
                    copy_window(p, x, row, col, window);
                    pixel(p, fn, &t, copied, w, window, y);
                }
                col += p->stride_w;
                y += p->channels;
            }
        }
        x += p->in_h * p->in_w * p->channels;
    }
}
