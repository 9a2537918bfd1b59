/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_convolve_s8: the windows of two output pixels are widened side by side and multiplied by all output
 * channels.
 *
 * A window is a list of runs of bytes: a kernel row of all its pixels, or one tap where dilation or groups part it.
 * Windows that reach into the padding take their taps one by one, padding from a constant pixel; that needs runs of
 * whole words. Otherwise input rows are copied, padding included, into a ring that holds the rows of two output rows.
 */
#include "nncc_dsp_channels.h"

/* Where the windows of an image are read: rows behind each other, or a ring of them. */
typedef struct
{
    const int8_t *base;
    int32_t pitch; /* bytes from a pixel to the next */
    int32_t row_bytes;
    int32_t rows;              /* of the ring; 0: no ring */
    uint32_t row_end, col_end; /* windows that begin before these end inside the image */
    int32_t runs, length;      /* of adjacent bytes in a kernel row, and their number in each */
} source;

/* The first place where a kernel of k taps does not fit n elements. */
static uint32_t end_of(int32_t n, int32_t k, int32_t dilation)
{
    const int32_t end = n - (k - 1) * dilation;

    return end < 0 ? 0u : (uint32_t)end;
}

/* An output pixel: its position, and the first row and column of its window in the source. */
typedef struct
{
    int32_t oy, ox, row, col;
} window;

/* The first window of an image. */
static void first(const nncc_dsp_convolve_params *p, const source *s, window *v)
{
    v->oy = 0;
    v->ox = 0;
    v->row = s->rows > 0 ? 0 : -p->pad_h;
    v->col = s->rows > 0 ? 0 : -p->pad_w;
}

static void next(const nncc_dsp_convolve_params *p, const source *s, window *v)
{
    v->ox++;
    v->col += p->stride_w;
    if (v->ox == p->out_w) {
        v->ox = 0;
        v->col = s->rows > 0 ? 0 : -p->pad_w;
        v->oy++;
        v->row += p->stride_h;
        if (s->rows > 0 && v->row >= s->rows) { /* a stride is at most the ring */
            v->row -= s->rows;
        }
    }
}

static int inside(const source *s, const window *v)
{
    return (uint32_t)v->row < s->row_end && (uint32_t)v->col < s->col_end;
}

/* Windows whose taps all lie in the source. */
static void gather(const nncc_dsp_convolve_params *p, nncc_dsp_widen_fn *widen, const source *s, const window *a,
                   const window *b, int32_t channel, int32_t *x)
{
    const int8_t *pa = s->base + a->row * s->row_bytes + a->col * s->pitch + channel;
    const int8_t *pb = s->base + b->row * s->row_bytes + b->col * s->pitch + channel;
    const int32_t down = p->dil_h * s->row_bytes, ring = s->rows * s->row_bytes, right = p->dil_w * s->pitch;
    const int8_t *const end = s->base + ring; /* rows behind it are those at the beginning */

    for (int32_t ky = p->kernel_h; ky > 0; ky--) {
        const int8_t *from = pa;
        const int32_t apart = (int32_t)(pb - pa);

        for (int32_t r = s->runs; r > 0; r--) {
            x = widen(from, from + apart, s->length, x);
            from += right;
        }
        pa += down;
        pb += down;
        if (ring > 0) {
            pa = pa >= end ? pa - ring : pa;
            pb = pb >= end ? pb - ring : pb;
        }
    }
}

static const int8_t *tap(const nncc_dsp_convolve_params *p, const int8_t *x, const int8_t *pad, int32_t row,
                         int32_t col)
{
    if (row < 0 || row >= p->in_h || col < 0 || col >= p->in_w) {
        return pad;
    }
    return x + (row * p->in_w + col) * p->in_pitch;
}

/* Windows with taps in the padding. */
static void gather_border(const nncc_dsp_convolve_params *p, nncc_dsp_widen_fn *widen, const int8_t *x,
                          const int8_t *pad, const window *a, const window *b, int32_t channel, int32_t *to)
{
    const int32_t depth = p->in_c / p->groups;

    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            const int32_t dy = ky * p->dil_h, dx = kx * p->dil_w;

            to = widen(tap(p, x, pad, a->row + dy, a->col + dx) + channel,
                       tap(p, x, pad, b->row + dy, b->col + dx) + channel, depth, to);
        }
    }
}

/* Copies padded rows [from, to) of the image into the ring; row 0 is the first one of the padding. */
static void fill_ring(const nncc_dsp_convolve_params *p, const int8_t *x, int8_t *ring, int32_t from, int32_t to)
{
    const int32_t bytes = p->ring_w * p->in_c, left = p->pad_w * p->in_c;
    int32_t middle = p->in_w * p->in_c;

    if (middle > bytes - left) {
        middle = bytes - left;
    }
    for (; from < to; from++) {
        int8_t *row = ring + (from % p->ring_rows) * bytes;
        const int32_t iy = from - p->pad_h;

        if (iy < 0 || iy >= p->in_h || middle <= 0) {
            memset(row, p->pad, (size_t)bytes);
            continue;
        }
        memset(row, p->pad, (size_t)left);
        if (p->in_pitch == p->in_c) {
            memcpy(row + left, x + iy * p->in_w * p->in_c, (size_t)middle);
        } else {
            for (int32_t at = 0; at < middle; at += p->in_c) {
                memcpy(row + left + at, x + (iy * p->in_w + at / p->in_c) * p->in_pitch, (size_t)p->in_c);
            }
        }
        memset(row + left + middle, p->pad, (size_t)(bytes - left - middle));
    }
}

void nncc_dsp_convolve_s8(const nncc_dsp_convolve_params *p, nncc_dsp_widen_fn *widen, nncc_dsp_matmul_fn *mat,
                          const int8_t *x, const int32_t *w, int8_t *y, int32_t *scratch)
{
    const int32_t pixels = p->out_h * p->out_w, depth = p->in_c / p->groups, out_depth = p->out_c / p->groups;
    const int32_t span = (p->kernel_h - 1) * p->dil_h + 1;
    const int32_t w_group = ((out_depth + 3) >> 2) * p->group_words;
    int8_t *const extra = (int8_t *)(scratch + 2 * p->pairs);
    nncc_dsp_matmul_params m = {0, p->pairs, p->out_pitch, p->positive, p->low, p->cap, 4, p->table};
    const int32_t tested = p->border && p->ring_rows == 0;
    source s = {x,
                p->in_pitch,
                p->in_w * p->in_pitch,
                p->ring_rows,
                end_of(p->in_h, p->kernel_h, p->dil_h),
                end_of(p->in_w, p->kernel_w, p->dil_w),
                p->kernel_w,
                depth};

    if (tested) {
        memset(extra, p->pad, (size_t)p->in_c);
    }
    for (int32_t n = 0; n < p->batches; n++) {
        window a, b;
        int32_t filled = 0;

        s.base = x;
        if (p->ring_rows > 0) {
            s.base = extra;
            s.pitch = p->in_c;
            s.row_bytes = p->ring_w * p->in_c;
        }
        if (p->dil_w == 1 && s.pitch == depth) { /* the pixels of a kernel row follow each other */
            s.runs = 1;
            s.length = p->kernel_w * depth;
        }
        m.y_step = p->out_pitch;
        first(p, &s, &a);
        for (int32_t i = 0; i < pixels; i += 2) {
            b = a;
            if (i + 1 < pixels) {
                next(p, &s, &b);
            } else {
                m.y_step = 0; /* the last odd pixel is computed twice */
            }
            if (p->ring_rows > 0 && filled < b.oy * p->stride_h + span) {
                const int32_t end = b.oy * p->stride_h + span, begin = a.oy * p->stride_h;

                fill_ring(p, x, extra, filled < begin ? begin : filled, end);
                filled = end;
            }
            for (int32_t g = 0; g < p->groups; g++) {
                if (!tested || (inside(&s, &a) && inside(&s, &b))) {
                    gather(p, widen, &s, &a, &b, g * depth, scratch);
                } else {
                    gather_border(p, widen, x, extra, &a, &b, g * depth, scratch);
                }
                nncc_dsp_channels(mat, &m, 2, out_depth, p->group_words, scratch, w + g * w_group, y + g * out_depth);
            }
            a = b;
            next(p, &s, &a);
            y += 2 * p->out_pitch;
        }
        y -= (pixels & 1) * p->out_pitch;
        x += p->in_h * p->in_w * p->in_pitch;
    }
}
