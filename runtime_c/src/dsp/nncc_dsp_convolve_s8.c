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

/* A function by itself: it has the registers. */
#if defined(__GNUC__)
#define NNCC_APART __attribute__((noinline))
#else
#define NNCC_APART
#endif

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
    int32_t runs, length;      /* of adjacent bytes in a kernel row, and their number in each */
    int32_t right, down;       /* bytes from a run to the next and from a kernel row to the next */
    int32_t kernel_h;
} source;

/* The first place where a kernel of k taps does not fit n elements. */
static uint32_t end_of(int32_t n, int32_t k, int32_t dilation)
{
    const int32_t end = n - (k - 1) * dilation;

    return end < 0 ? 0u : (uint32_t)end;
}

/* An output pixel: the outputs of its row from it on, the first row and column of its window in the source and, in
 * bytes, where that is; the padded rows that its row of windows wants. */
typedef struct
{
    int32_t left, row, col, at, begin, end;
} window;

/* The first window of a row that is `down` rows of windows below v's. */
static NNCC_APART void next_row(const nncc_dsp_convolve_params *p, const source *s, window *v, int32_t down)
{
    const int32_t ring = s->rows > 0;

    v->row += down;
    v->begin += down;
    v->end += down;
    if (ring && v->row >= s->rows) { /* a stride is at most the ring */
        v->row -= s->rows;
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

/* Windows whose taps all lie in the source, bytes a and b behind its base. */
static NNCC_APART void gather(const source *s, int32_t a, int32_t b, int32_t *x)
{
    const int8_t *pa = s->base + a, *pb = s->base + b;
    nncc_dsp_widen_fn *const widen = s->widen;
    const int32_t down = s->down, ring = s->rows * s->row_bytes, length = s->length;
    const int8_t *const end = s->base + ring; /* rows behind it are those at the beginning */

    for (int32_t ky = s->kernel_h; ky > 0; ky--) {
        x = widen(pa, pb, length, x);
        for (int32_t r = 1; r < s->runs; r++) {
            x = widen(pa + r * s->right, pb + r * s->right, length, x);
        }
        pa += down;
        pb += down;
        if (pa >= end) {
            pa -= ring;
        }
        if (pb >= end) {
            pb -= ring;
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
static NNCC_APART void gather_border(const nncc_dsp_convolve_params *p, nncc_dsp_widen_fn *widen, const int8_t *x,
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
static NNCC_APART void fill_ring(const nncc_dsp_convolve_params *p, const int8_t *x, int8_t *ring, int32_t from,
                                 int32_t to)
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

/* Two windows in scratch times the weights of a group of channels. */
static NNCC_APART void multiply(const nncc_dsp_convolve_params *p, nncc_dsp_matmul_fn *mat, nncc_dsp_matmul_params *m,
                                int32_t channels, const int32_t *scratch, const int32_t *w, int8_t *y)
{
    nncc_dsp_channels(mat, m, 2, channels, p->group_words, scratch, w, y);
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
    const int32_t merged = p->dil_w == 1 && pitch == depth;
    source s = {widen,
                extra,
                pitch,
                row_bytes,
                p->ring_rows,
                p->stride_w * pitch,
                end_of(p->in_h, p->kernel_h, p->dil_h),
                end_of(p->in_w, p->kernel_w, p->dil_w),
                merged ? 1 : p->kernel_w,
                merged ? p->kernel_w * depth : depth,
                p->dil_w * pitch,
                p->dil_h * row_bytes,
                p->kernel_h};

    if (tested) {
        memset(extra, p->pad, (size_t)p->in_c);
    }
    for (int32_t n = 0; n < p->batches; n++) {
        window v = {0, ring ? 0 : -p->pad_h, 0, 0, 0, (p->kernel_h - 1) * p->dil_h + 1};
        int32_t filled = 0;

        if (!ring) {
            s.base = x;
        }
        m.y_step = p->out_pitch;
        next_row(p, &s, &v, 0);
        for (int32_t i = 0; i < pixels;) {
            const int32_t pairs = pairs_of(p, &s, &v, tested);
            const window a = v;

            if (pairs > 0) {
                v.left -= 2 * pairs - 1;
                v.col += (2 * pairs - 1) * p->stride_w;
                v.at += (2 * pairs - 1) * s.step;
            } else if (i + 1 < pixels) {
                next(p, &s, &v);
            } else {
                m.y_step = 0; /* the last odd pixel is computed twice */
            }
            if (ring && filled < v.end) {
                fill_ring(p, x, extra, filled < a.begin ? a.begin : filled, v.end);
                filled = v.end;
            }
            for (int32_t g = 0; g < p->groups; g++) {
                const int32_t *const weights = w + g * w_group;
                int32_t from = a.at + g * depth;
                int8_t *to = y + g * out_depth;

                for (int32_t k = pairs; k > 0; k--) {
                    gather(&s, from, from + s.step, scratch);
                    multiply(p, mat, &m, out_depth, scratch, weights, to);
                    from += 2 * s.step;
                    to += 2 * p->out_pitch;
                }
                if (pairs == 0) {
                    if (!tested || (inside(&s, &a) && inside(&s, &v))) {
                        gather(&s, from, v.at + g * depth, scratch);
                    } else {
                        gather_border(p, widen, x, extra, &a, &v, g * depth, scratch);
                    }
                    multiply(p, mat, &m, out_depth, scratch, weights, to);
                }
            }
            next(p, &s, &v);
            i += pairs > 0 ? 2 * pairs : 2;
            y += (pairs > 0 ? 2 * pairs : 2) * p->out_pitch;
        }
        y -= (pixels & 1) * p->out_pitch;
        x += p->in_h * p->in_w * p->in_pitch;
    }
}
