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
    nncc_dsp_widen_fn *widen;
    const int8_t *base;
    int32_t pitch; /* bytes from a pixel to the next */
    int32_t row_bytes;
    int32_t rows;              /* of the ring; 0: no ring */
    int32_t step;              /* bytes from a window to the next */
    uint32_t row_end, col_end; /* windows that begin before these end inside the image */
    nncc_dsp_runs runs;        /* of a kernel row; with a count of 0 a row is a run and the runs are rows */
    nncc_dsp_runs tap;         /* by itself */
    int32_t down;              /* bytes from a kernel row to the next */
    int32_t kernel_h;
} source;

/* The first place where a kernel of k taps does not fit n elements. */
static uint32_t end_of(int32_t n, int32_t k, int32_t dilation)
{
    const int32_t end = n - (k - 1) * dilation;

    return end < 0 ? 0u : (uint32_t)end;
}

/* An output pixel: the outputs of its row from it on; the first row and column of its window in the source and, in
 * bytes, where that is; the first padded row of the window; its kernel rows in front of the ring's end. */
typedef struct
{
    int32_t left, row, col, at, begin, whole;
} window;

/* The first window of a row that is `down` rows of windows below v's. */
static NNCC_APART void next_row(const nncc_dsp_convolve_params *p, const source *s, window *v, int32_t down)
{
    const int32_t ring = s->rows > 0;

    v->row += down;
    v->begin += down;
    if (ring && v->row >= s->rows) { /* a stride is at most the ring */
        v->row -= s->rows;
    }
    v->whole = s->kernel_h;
    if (ring && v->row + (s->kernel_h - 1) * p->dil_h >= s->rows) {
        v->whole = (s->rows - v->row + p->dil_h - 1) / p->dil_h;
    }
    v->left = p->out_w;
    v->col = ring ? 0 : -p->pad_w;
    v->at = v->row * s->row_bytes + v->col * s->pitch;
}

static NNCC_APART void next(const nncc_dsp_convolve_params *p, const source *s, window *v)
{
    v->col += p->stride_w;
    v->at += s->step;
    v->left--;
    if (v->left == 0) {
        next_row(p, s, v, p->stride_h);
    }
}

static int inside(const source *s, const window *v)
{
    return (uint32_t)v->row < s->row_end && (uint32_t)v->col < s->col_end;
}

/* Windows of which all taps lie in the source, bytes a and b behind its base, as many kernel rows of each in front of
 * the ring's end as a_rows and b_rows say. */
static NNCC_APART void gather(const source *s, int32_t a_rows, int32_t b_rows, int32_t a, int32_t b, int32_t *x)
{
    const int8_t *pa = s->base + a, *pb = s->base + b;
    nncc_dsp_runs r = s->runs;
    int32_t left = s->kernel_h;

    for (;;) {
        int32_t rows = 1;

        if (s->runs.count == 0) {
            rows = a_rows < b_rows ? a_rows : b_rows;
            r.count = rows;
        }
        x = s->widen(&r, pa, pb, x);
        left -= rows;
        if (left == 0) {
            return;
        }
        pa += rows * s->down;
        pb += rows * s->down;
        a_rows -= rows;
        b_rows -= rows;
        if (a_rows == 0) {
            pa -= s->rows * s->row_bytes;
            a_rows = left;
        }
        if (b_rows == 0) {
            pb -= s->rows * s->row_bytes;
            b_rows = left;
        }
    }
}

static const int8_t *tap(const nncc_dsp_convolve_params *p, const source *s, const int8_t *pad, int32_t row,
                         int32_t col)
{
    if ((uint32_t)row >= (uint32_t)p->in_h || (uint32_t)col >= (uint32_t)p->in_w) {
        return pad;
    }
    return s->base + row * s->row_bytes + col * s->pitch;
}

/* Windows with taps in the padding. */
static NNCC_APART void gather_border(const nncc_dsp_convolve_params *p, const source *s, const int8_t *pad,
                                     const window *a, const window *b, int32_t channel, int32_t *to)
{
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            const int32_t dy = ky * p->dil_h, dx = kx * p->dil_w;

            to = s->widen(&s->tap, tap(p, s, pad, a->row + dy, a->col + dx) + channel,
                          tap(p, s, pad, b->row + dy, b->col + dx) + channel, to);
        }
    }
}

/* Copies padded rows [from, to) of the image into the ring; row 0 is the first one of the padding. */
static NNCC_APART void fill_ring(const nncc_dsp_convolve_params *p, const int8_t *x, int8_t *ring, int32_t from,
                                 int32_t to)
{
    const int32_t bytes = p->ring_w * p->in_c, left = p->pad_w * p->in_c;
    int32_t middle = p->in_w * p->in_c, run = p->in_c;

    if (middle > bytes - left) {
        middle = bytes - left;
    }
    if (p->in_pitch == run) {
        run = middle;
    }
    for (; from < to; from++) {
        int8_t *row = ring + (from % p->ring_rows) * bytes;
        const int32_t iy = from - p->pad_h;

        if (iy < 0 || iy >= p->in_h || middle <= 0) {
            memset(row, p->pad, (size_t)bytes);
            continue;
        }
        const int8_t *pixel = x + iy * p->in_w * p->in_pitch;
        memset(row, p->pad, (size_t)left);
        memset(row + left + middle, p->pad, (size_t)(bytes - left - middle));
        for (int32_t at = left; at < left + middle; at += run) {
            memcpy(row + at, pixel, (size_t)run);
            pixel += p->in_pitch;
        }
    }
}

/* How many pairs of windows from v on lie in its row and, all taps, in the source. */
static int32_t pairs_of(const nncc_dsp_convolve_params *p, const source *s, const window *v, int32_t tested)
{
    int32_t windows = v->left;

    if (tested) {
        const int32_t end = (int32_t)s->col_end;

        if (!inside(s, v)) {
            return 0;
        }
        if (v->col + (windows - 1) * p->stride_w >= end) {
            windows = (end - v->col + p->stride_w - 1) / p->stride_w;
        }
    }
    return windows >> 1;
}

void nncc_dsp_convolve_s8(const nncc_dsp_convolve_params *p, nncc_dsp_widen_fn *widen, nncc_dsp_matmul_fn *mat,
                          const int8_t *x, const int32_t *w, int8_t *y, int32_t *scratch)
{
    const int32_t pixels = p->out_h * p->out_w, depth = p->in_c / p->groups, out_depth = p->out_c / p->groups;
    const int32_t w_group = ((out_depth + 3) >> 2) * p->group_words;
    int8_t *const extra = (int8_t *)(scratch + 2 * p->pairs);
    nncc_dsp_matmul_params m = {0, p->pairs, p->out_pitch, p->positive, p->low, p->cap, 4, p->table};
    const int32_t ring = p->ring_rows > 0, tested = p->border && !ring;
    const int32_t pitch = ring ? p->in_c : p->in_pitch, row_bytes = ring ? p->ring_w * pitch : p->in_w * pitch;
    /* The pixels of a kernel row may follow each other. */
    const int32_t merged = p->kernel_w == 1 || (p->dil_w == 1 && pitch == depth);
    const int32_t down = p->dil_h * row_bytes, span = (p->kernel_h - 1) * p->dil_h + 1;
    source s = {widen,
                extra,
                pitch,
                row_bytes,
                p->ring_rows,
                p->stride_w * pitch,
                end_of(p->in_h, p->kernel_h, p->dil_h),
                end_of(p->in_w, p->kernel_w, p->dil_w),
                {merged ? p->kernel_w * depth : depth, merged ? 0 : p->kernel_w, merged ? down : p->dil_w * pitch},
                {depth, 1, 0},
                down,
                p->kernel_h};

    if (tested) {
        memset(extra, p->pad, (size_t)p->in_c);
    }
    for (int32_t n = 0; n < p->batches; n++) {
        window v = {0, ring ? 0 : -p->pad_h, 0, 0, 0, 0};
        int32_t filled = 0;

        if (!ring) {
            s.base = x;
        }
        m.y_step = p->out_pitch;
        next_row(p, &s, &v, 0);
        for (int32_t i = 0; i < pixels;) {
            const window a = v;
            int32_t pairs = pairs_of(p, &s, &v, tested), apart = s.step, outside = 0;

            if (pairs > 0) {
                v.left -= 2 * pairs - 1;
                v.col += (2 * pairs - 1) * p->stride_w;
                v.at += (2 * pairs - 1) * s.step;
            } else {
                pairs = 1;
                if (i + 1 < pixels) {
                    next(p, &s, &v);
                } else {
                    m.y_step = 0; /* the last odd pixel is computed twice */
                }
                apart = v.at - a.at;
                outside = tested && !(inside(&s, &a) && inside(&s, &v));
            }
            if (ring && filled < v.begin + span) {
                fill_ring(p, x, extra, filled < a.begin ? a.begin : filled, v.begin + span);
                filled = v.begin + span;
            }
            for (int32_t g = 0; g < p->groups; g++) {
                int32_t from = a.at + g * depth;
                int8_t *to = y + g * out_depth;

                for (int32_t k = pairs; k > 0; k--) {
                    if (outside) {
                        gather_border(p, &s, extra, &a, &v, g * depth, scratch);
                    } else {
                        gather(&s, a.whole, v.whole, from, from + apart, scratch);
                    }
                    nncc_dsp_channels(mat, &m, 2, out_depth, p->group_words, scratch, w + g * w_group, to);
                    from += 2 * s.step;
                    to += 2 * p->out_pitch;
                }
            }
            next(p, &s, &v);
            i += 2 * pairs;
            y += 2 * pairs * p->out_pitch;
        }
        y -= (pixels & 1) * p->out_pitch;
        x += p->in_h * p->in_w * p->in_pitch;
    }
}
