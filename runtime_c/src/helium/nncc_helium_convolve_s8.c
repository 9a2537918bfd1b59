/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_copy.h"
#include "nncc_helium_residual.h"

/* The taps of one dimension that meet the image: [first, last). */
typedef struct
{
    int32_t first;
    int32_t last;
} nncc_helium_range;

static inline nncc_helium_range nncc_helium_inside(int32_t start, int32_t taps, int32_t dilation, int32_t size)
{
    nncc_helium_range t;

    t.first = start >= 0 ? 0 : (dilation == 1 ? -start : (-start + dilation - 1) / dilation);
    t.last = start + (taps - 1) * dilation < size ? taps
                                                  : (size - start <= 0 ? 0 : (size - start + dilation - 1) / dilation);
    return t;
}

/* A row of output pixels of one group. */
typedef struct
{
    const int8_t *row; /* of the input at the first tap inside, first channel of the group */
    nncc_helium_range y;
    int32_t channels;                  /* of the group */
    int32_t spread;                    /* from the first column of a patch to the last */
    int8_t *columns;                   /* that neighbours share, where patches are copied from them */
    int32_t whole;                     /* of short columns, in a vector; 0: they do not lie so */
    uint8_t places[NNCC_HELIUM_BYTES]; /* where bytes of those go */
} nncc_band;

/*
 * Copies `count` pieces of n bytes from every row of the band; what the next row of taps writes lies `height` bytes
 * further. Rows and pieces are two loops, of which the longer one is inside.
 */
static void nncc_band_copy(const nncc_helium_convolve_params *p, const nncc_band *b, int32_t column, int8_t *to,
                           int32_t height, const nncc_pieces *a)
{
    const int8_t *from = b->row + column * p->in_pitch;
    nncc_pieces rows;
    nncc_pieces inner = *a;

    rows.n = a->n;
    rows.from_step = p->dilation_h * p->in_w * p->in_pitch;
    rows.to_step = height;
    rows.count = b->y.last - b->y.first;
    to += b->y.first * height;
    if (a->count < rows.count) {
        inner = rows;
        rows = *a;
    }
    for (int32_t k = rows.count; k > 0; k--) {
        nncc_helium_gather(to, from, &inner);
        from += rows.from_step;
        to += rows.to_step;
    }
}

#if NNCC_HELIUM_MVE
/* `rows` rows of short columns, one after the other: the bytes of each vector go to their places. Those of a column
 * that is not whole are in the next vector, too. */
static void nncc_spread(const nncc_band *b, const nncc_pieces *a, int8_t *to, const int8_t *from, int32_t rows)
{
    const int32_t lanes = b->whole * b->channels;
    const int32_t step = b->whole * a->to_step;
    const int32_t before = (a->count - 1) / b->whole;
    const mve_pred16_t rest = vctp8q((uint32_t)((a->count - before * b->whole) * b->channels));
    const uint8x16_t places = vldrbq_u8(b->places);

    for (; rows > 0; rows--) {
        const int8_t *x = from;
        int8_t *y = to;

        for (int32_t i = before; i > 0; i--) {
            vstrbq_scatter_offset_s8(y, places, vldrbq_s8(x));
            x += lanes;
            y += step;
        }
        vstrbq_scatter_offset_p_s8(y, places, vldrbq_z_s8(x, rest), rest);
        from += a->from_step;
        to += b->channels;
    }
}
#endif

/* Columns of kernel_h taps, one after the other, that neighbouring pixels share. */
static void nncc_write_columns(const nncc_helium_convolve_params *p, const nncc_band *b, int32_t left, int32_t columns,
                               int8_t *to)
{
    int32_t first = left < 0 ? -left : 0;
    int32_t last = left + columns > p->in_w ? p->in_w - left : columns;
    nncc_pieces a;

    if (first >= last) {
        return;
    }
    a.n = b->channels;
    a.from_step = p->in_pitch;
    a.to_step = p->kernel_h * b->channels;
    a.count = last - first;
    to += first * a.to_step;
#if NNCC_HELIUM_MVE
    if (b->whole > 0 && b->y.first < b->y.last) {
        a.from_step = p->dilation_h * p->in_w * a.n;
        nncc_spread(b, &a, to + b->y.first * a.n, b->row + (left + first) * a.n, b->y.last - b->y.first);
        return;
    }
#endif
    nncc_band_copy(p, b, left + first, to, b->channels, &a);
}

/* A patch [kernel_h][kernel_w][channels] for each of n pixels. */
static void nncc_write_patches(const nncc_helium_convolve_params *p, const nncc_band *b, int32_t left, int32_t n,
                               int8_t *to)
{
    int32_t c = b->channels;
    int32_t height = p->kernel_w * c;
    nncc_pieces a;

    a.from_step = p->stride_w * p->in_pitch;
    a.to_step = p->mac.step;
    for (int32_t i = 0; i < n; i += a.count) {
        int32_t at = left + i * p->stride_w;
        nncc_helium_range x = nncc_helium_inside(at, p->kernel_w, p->dilation_w, p->in_w);

        a.count = 1;
        if (x.last - x.first == p->kernel_w) { /* and so have the next ones */
            int32_t inside = (p->in_w - 1 - b->spread - at) / p->stride_w + 1;

            a.count = inside < n - i ? inside : n - i;
        }
        if (p->in_pitch == c && p->dilation_w == 1) { /* the taps of a row are neighbours in memory */
            a.n = (x.last - x.first) * c;
            if (a.n > 0) {
                nncc_band_copy(p, b, at + x.first, to + x.first * c, height, &a);
            }
        } else {
            a.n = c;
            for (; x.first < x.last; x.first++) {
                nncc_band_copy(p, b, at + x.first * p->dilation_w, to + x.first * c, height, &a);
            }
        }
        to += a.count * a.to_step;
    }
}

/* Fills what sticks out of shared columns: all of them where rows do, and else those at the sides. */
static inline void nncc_fill_columns(const nncc_helium_convolve_params *p, const nncc_band *b, int32_t left,
                                     int32_t columns, int8_t *to)
{
    const int32_t bytes = p->kernel_h * b->channels;
    const int32_t behind = left + columns - p->in_w;

    if (b->y.last - b->y.first < p->kernel_h) {
        nncc_helium_fill(to, p->in_zero, columns * bytes);
        return;
    }
    if (left < 0) {
        nncc_helium_fill(to, p->in_zero, (-left < columns ? -left : columns) * bytes);
    }
    if (behind > 0) {
        const int32_t n = behind < columns ? behind : columns;

        nncc_helium_fill(to + (columns - n) * bytes, p->in_zero, n * bytes);
    }
}

/* Fills patches of which a part sticks out: those at one side of the map, or all of them. */
static inline void nncc_fill_patches(const nncc_helium_convolve_params *p, const nncc_band *b, int32_t left, int32_t n,
                                     int8_t *to)
{
    const int32_t room = p->in_w - b->spread - left;

    if (b->y.last - b->y.first == p->kernel_h) {
        if (left >= 0 && room > 0) {
            const int32_t inside = (room + p->stride_w - 1) / p->stride_w;

            to += inside * p->mac.step;
            n -= inside;
        } else if ((n - 1) * p->stride_w < room) {
            const int32_t before = (-left + p->stride_w - 1) / p->stride_w;

            n = before < n ? before : n;
        } else {
            /* Both sides, or nothing is inside. */
        }
    }
    nncc_helium_fill(to, p->in_zero, n * p->mac.step);
}

/* n pixels whose first one has its left side at input column `left`. What sticks out is filled beforehand. */
static void nncc_write(const nncc_helium_convolve_params *p, const nncc_band *b, int32_t left, int32_t n, int8_t *to)
{
    const int32_t last = left + (n - 1) * p->stride_w;

    if (p->shared != 0) {
        nncc_fill_columns(p, b, left, last - left + p->kernel_w, to);
        nncc_write_columns(p, b, left, last - left + p->kernel_w, to);
    } else {
        if (left < 0 || last + b->spread >= p->in_w || b->y.last - b->y.first < p->kernel_h) {
            nncc_fill_patches(p, b, left, n, to);
        }
        nncc_write_patches(p, b, left, n, to);
    }
}

/* Where results go: to y, or to `wait` and from there with `other` to y. */
typedef struct
{
    const nncc_helium_residual_params *r; /* NULL: none */
    int8_t *wait;
    const int8_t *other;
    nncc_helium_add_linear_fn *fn;
    int32_t ready; /* pixels that wait */
} nncc_after;

/* Adds the results in `wait`; returns the end of what is stored in y. */
static inline int8_t *nncc_flush(nncc_after *a, int32_t channels, int8_t *y)
{
    const int32_t n = a->ready;

    nncc_residual_flush(a->r, a->fn, channels, a->wait, a->other, y, n);
    a->other += n * a->r->other_pitch;
    a->ready = 0;
    return y + n * a->r->pitch;
}

/* The dot products of the n pixels in scratch; returns the end of what is stored in y. */
static int8_t *nncc_conv_dots(const nncc_helium_convolve_params *p, nncc_after *a, const int8_t *packed,
                              const int8_t *scratch, int8_t *y, int32_t n, nncc_helium_matmul_fn *dot)
{
    if (a->r == NULL) {
        dot(&p->mac, scratch, packed, y, n);
        return y + n * p->mac.pitch;
    }
    if (a->ready + n > a->r->pixels) {
        y = nncc_flush(a, p->mac.pitch, y);
    }
    dot(&p->mac, scratch, packed, a->wait + a->ready * p->mac.pitch, n);
    a->ready += n;
    return y;
}

/* One image for one group; y is the group's first output channel. */
static void nncc_conv_image(const nncc_helium_convolve_params *p, nncc_band *b, nncc_after *a, const int8_t *image,
                            const int8_t *packed, int8_t *scratch, int8_t *y, nncc_helium_matmul_fn *dot)
{
    int8_t *done = y;
    int32_t held = 0;

    for (int32_t oy = 0; oy < p->out_h; oy++) {
        int32_t top = oy * p->stride_h - p->pad_top;
        int32_t ox = 0;

        b->y = nncc_helium_inside(top, p->kernel_h, p->dilation_h, p->in_h);
        b->row = image + (top + b->y.first * p->dilation_h) * p->in_w * p->in_pitch;
        while (ox < p->out_w) {
            int32_t n = p->block - held < p->out_w - ox ? p->block - held : p->out_w - ox;

            if (p->shared > 1) {
                const int32_t column = p->kernel_h * b->channels;

                if (ox == 0) {
                    nncc_write(p, b, -p->pad_left, p->out_w, b->columns);
                }
                for (int32_t i = 0; i < n; i++) {
                    nncc_copy(scratch + (held + i) * p->mac.step, b->columns + (ox + i) * p->stride_w * column,
                              p->kernel_w * column);
                }
            } else {
                nncc_write(p, b, ox * p->stride_w - p->pad_left, n, scratch + held * p->mac.step);
            }
            held += n;
            ox += n;
            if (held == p->block || p->shared == 1 || (oy == p->out_h - 1 && ox == p->out_w)) {
                y = nncc_conv_dots(p, a, packed, scratch, y, held, dot);
                held = 0;
            }
        }
        if (p->table != NULL) { /* what this row has finished */
            nncc_helium_map_rows(done, p->table, &p->mac, (int32_t)(y - done));
            done = y;
        }
    }
    if (a->r != NULL) {
        (void)nncc_flush(a, p->mac.pitch, y);
    }
}

static inline void nncc_conv(const nncc_helium_convolve_params *p, nncc_after *a, const int8_t *x, const int8_t *packed,
                             int8_t *scratch, int8_t *y, nncc_helium_matmul_fn *dot)
{
    const int32_t pitch = a->r == NULL ? p->mac.pitch : a->r->pitch;
    nncc_band b;

    b.channels = p->depth;
    b.spread = (p->kernel_w - 1) * p->dilation_w;
    b.columns = scratch + p->block * p->mac.step;
    b.whole = NNCC_HELIUM_BYTES / p->depth;
    if (p->shared == 0 || p->in_pitch != p->depth || b.whole < 3 ||
        (15 / p->depth * p->kernel_h + 1) * p->depth > 256) {
        b.whole = 0;
    }
    for (int32_t i = 0, at = 0; b.whole > 0 && i < NNCC_HELIUM_BYTES; at += p->kernel_h * p->depth) {
        for (int32_t c = 0; c < p->depth && i < NNCC_HELIUM_BYTES; c++) {
            b.places[i++] = (uint8_t)(at + c);
        }
    }
    for (int32_t g = 0; g < p->groups; g++) {
        for (int32_t n = 0; n < p->batch; n++) {
            nncc_conv_image(p, &b, a, x + n * p->in_h * p->in_w * p->in_pitch + g * b.channels, packed, scratch,
                            y + n * p->out_h * p->out_w * pitch + g * p->group_step, dot);
        }
        packed += p->group_bytes;
    }
}

void nncc_helium_convolve_s8(const nncc_helium_convolve_params *p, const int8_t *x, const int8_t *packed,
                             int8_t *scratch, int8_t *y, nncc_helium_matmul_fn *dot)
{
    nncc_after a = {NULL, NULL, NULL, NULL, 0};

    nncc_conv(p, &a, x, packed, scratch, y, dot);
}

void nncc_helium_convolve_add_s8(const nncc_helium_convolve_params *p, const int8_t *x, const int8_t *packed,
                                 int8_t *scratch, int8_t *wait, int8_t *y, nncc_helium_matmul_fn *dot,
                                 const nncc_helium_residual_params *r, const int8_t *other,
                                 nncc_helium_add_linear_fn *fn)
{
    nncc_after a = {r, wait, other, fn, 0};

    nncc_conv(p, &a, x, packed, scratch, y, dot);
}
