/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_copy.h"

/* Channels that go through scratch at a time. */
#define NNCC_DW_LANES 8
/* Bytes that a scatter of 8 elements reaches. */
#define NNCC_DW_REACH 65535

/* Rows that are brought at a time, even. */
#define NNCC_DW_ROWS 16

/* The pixels of a row, so many bytes apart, 0 outside of the image. */
typedef struct
{
    const int8_t *x;
    int32_t step;
} nncc_dw_row;

/* Where columns go, and how many; the assembly has the offsets. */
typedef struct
{
    int32_t pitch;              /* 0: bytes from a column to the next */
    int32_t n;                  /* 4 */
    int32_t lanes;              /* 8 */
    int32_t plane;              /* bytes from a channel to the next */
    uint16_t at[NNCC_DW_LANES]; /* 16: of the channels */
} nncc_dw_columns;

static inline void nncc_dw_each(const nncc_dw_columns *c, const nncc_dw_row *x, int32_t rows, int8_t *to)
{
    for (; rows > 0; rows--) {
        for (int32_t i = 0; i < c->n; i++) {
            for (int32_t k = 0; k < c->lanes; k++) {
                to[k * c->plane + i * c->pitch] = x->x[i * x->step + k];
            }
        }
        x++;
        to++;
    }
}

#if NNCC_HELIUM_ASM

/*
 * r0 and r1 two rows, r3 and r4 their steps, r5 the pitch, r2 the columns, q2 the places of the channels; widening
 * loads want r0 to r7. Predicates cost an instruction, so that 8 channels have loops without.
 */
#define NNCC_DW_BEGIN "vldrh.16 q2, [%[c], #16]\nldr r5, [%[c]]\nldr r0, [%[c], #8]\nvctp.16 r0\n1:\n"
#define NNCC_DW_LOOP "mov r2, %[y]\nldr lr, [%[c], #4]\ndls lr, lr\n2:\n"
/* clang-format off */
#define NNCC_DW_PAIRS(body) \
    NNCC_DW_BEGIN "ldrd r0, r3, [%[x]], #8\nldrd r1, r4, [%[x]], #8\n" NNCC_DW_LOOP body \
    "add r0, r0, r3\nadd r1, r1, r4\nadd r2, r2, r5\nle lr, 2b\n" \
    "adds %[y], %[y], #2\nsubs %[rows], %[rows], #2\nbgt 1b\n"
#define NNCC_DW_SINGLES(body) \
    NNCC_DW_BEGIN "ldrd r0, r3, [%[x]], #8\n" NNCC_DW_LOOP body "add r0, r0, r3\nadd r2, r2, r5\nle lr, 2b\n" \
    "adds %[y], %[y], #1\nsubs %[rows], %[rows], #1\nbgt 1b\n"
#define NNCC_DW_RUN(loop) \
    __asm volatile(loop : [x] "+r"(x), [y] "+r"(y), [rows] "+r"(rows) : [c] "r"(c) \
                   : "r0", "r1", "r2", "r3", "r4", "r5", "lr", "q0", "q1", "q2", "cc", "memory")

/* Rows of n columns of up to 8 channels into the bytes at `to` and behind it; by twos where columns have an even
 * number of bytes: then there is a row or padding behind an odd one. */
static inline void nncc_dw_write(const nncc_dw_columns *columns, const nncc_dw_row *row, int32_t n, int8_t *to)
{
    NNCC_REG(int8_t *, y, "r6", to);
    NNCC_REG(const nncc_dw_columns *, c, "r8", columns);
    NNCC_REG(const nncc_dw_row *, x, "r9", row);
    NNCC_REG(int32_t, rows, "r10", n);

    if (7 * columns->plane > NNCC_DW_REACH) {
        nncc_dw_each(columns, row, n, to);
    } else if (columns->pitch % 2 != 0) {
        if (columns->lanes < NNCC_DW_LANES) {
            NNCC_DW_RUN(NNCC_DW_SINGLES("vpstt\nvldrbt.u16 q0, [r0]\nvstrbt.16 q0, [r2, q2]\n"));
        } else {
            NNCC_DW_RUN(NNCC_DW_SINGLES("vldrb.u16 q0, [r0]\nvstrb.16 q0, [r2, q2]\n"));
        }
    } else if (columns->lanes < NNCC_DW_LANES) {
        NNCC_DW_RUN(NNCC_DW_PAIRS("vpstttt\nvldrbt.u16 q0, [r0]\nvldrbt.u16 q1, [r1]\nvslit.16 q0, q1, #8\n"
                                  "vstrht.16 q0, [r2, q2]\n"));
    } else {
        NNCC_DW_RUN(NNCC_DW_PAIRS("vldrb.u16 q0, [r0]\nvldrb.u16 q1, [r1]\nvsli.16 q0, q1, #8\n"
                                  "vstrh.16 q0, [r2, q2]\n"));
    }
}
/* clang-format on */

#elif NNCC_HELIUM_MVE

/* Rows of n columns of up to 8 channels into the bytes at `to` and behind it. */
static void nncc_dw_write(const nncc_dw_columns *c, const nncc_dw_row *x, int32_t rows, int8_t *to)
{
    const uint16x8_t at = vldrhq_u16(c->at);
    const mve_pred16_t lanes = vctp16q((uint32_t)c->lanes);

    if (7 * c->plane > NNCC_DW_REACH) {
        nncc_dw_each(c, x, rows, to);
        return;
    }
    for (; rows > 0; rows--) {
        const uint8_t *a = (const uint8_t *)x->x;
        uint8_t *y = (uint8_t *)to;

        for (int32_t i = c->n; i > 0; i--) {
            vstrbq_scatter_offset_p_u16(y, at, vldrbq_z_u16(a, lanes), lanes);
            a += x->step;
            y += c->pitch;
        }
        x++;
        to++;
    }
}

#else

static inline void nncc_dw_write(const nncc_dw_columns *c, const nncc_dw_row *x, int32_t rows, int8_t *to)
{
    nncc_dw_each(c, x, rows, to);
}

#endif

/* What the outputs [ox, ox + count) of some rows read, of a block of channels. */
typedef struct
{
    const nncc_helium_depthwise_params *p;
    const int8_t *image; /* first channel of the block */
    const int8_t *outside;
    int8_t *scratch;
    int32_t rows;  /* of the windows of all of these rows */
    int32_t first; /* of them in the image, may be negative */
    int32_t ox;
    int32_t count;
} nncc_dw_part;

/* Rows of a part from column `from` on, dilation_w apart. */
static inline void nncc_dw_rows(const nncc_dw_part *a, nncc_dw_columns *c, int32_t from, int8_t *to)
{
    const nncc_helium_depthwise_params *p = a->p;
    const int32_t step = p->dilation_w * p->in_c;
    int32_t iy = a->first;

    for (int32_t left = a->rows; left > 0; left -= NNCC_DW_ROWS) {
        nncc_dw_row row[NNCC_DW_ROWS];
        const int32_t n = left < NNCC_DW_ROWS ? left : NNCC_DW_ROWS;

        for (int32_t r = 0; r < n; r++) {
            const int32_t inside = iy >= 0 && iy < p->in_h;

            row[r].x = inside ? a->image + (iy * p->in_w + from) * p->in_c : a->outside;
            row[r].step = inside ? step : 0;
            iy += p->dilation_h;
        }
        if (n % 2 != 0) { /* the second one of a pair */
            row[n].x = a->outside;
            row[n].step = 0;
        }
        nncc_dw_write(c, row, n, to);
        to += NNCC_DW_ROWS;
    }
}

/* Columns that lie dilation_w apart stand side by side: window k of a residue is k steps behind its first one. */
static inline void nncc_dw_bring(const nncc_dw_part *a, nncc_dw_columns *c)
{
    const nncc_helium_depthwise_params *p = a->p;
    const int32_t apart = p->dilation_w;
    const int32_t left = p->pad_left - a->ox * p->stride_w; /* column of the part that is the image's first one */
    const int32_t need = (a->count - 1) * p->stride_w + (p->kernel_w - 1) * apart + 1;
    const int32_t end = left + p->in_w < need ? left + p->in_w : need;

    for (int32_t k = 0; k < apart; k++) {
        const int32_t skip = k < left ? (left - k + apart - 1) / apart : 0;
        const int32_t from = k + skip * apart;

        if (from < end) {
            c->n = (end - from + apart - 1) / apart;
            nncc_dw_rows(a, c, from - left, a->scratch + (k * p->width + skip) * p->pitch);
        }
    }
}

/* The outputs of a part; y is the first one of the block's first output channel. */
static inline void nncc_dw_outputs(const nncc_dw_part *a, nncc_helium_windows *f, nncc_helium_windows_fn *windows,
                                   int32_t lanes, const int8_t *packed, int8_t *y)
{
    const nncc_helium_depthwise_params *p = a->p;
    const int32_t times = p->multiplier;

    for (int32_t k = 0; k < p->phases_w && k < a->count; k++) {
        const int32_t column = k * p->stride_w;
        const int32_t n = (a->count - k + p->phases_w - 1) / p->phases_w;
        const int8_t *x = a->scratch + (column % p->dilation_w * p->width + column / p->dilation_w) * p->pitch;

        f->fours = n >> 2;
        f->rest = n & 3;
        f->x_back = f->row - 4 * f->step * (f->fours + (f->rest != 0 ? 1 : 0));
        f->y_back = f->line - f->next * f->fours;
        f->record = packed;
        f->y = y + k * p->out_pitch;
        if (times == 1) {
            f->x = x;
            f->channels = lanes;
            windows(f);
        } else {
            for (int32_t c = 0; c < lanes; c++) {
                f->x = x + c * p->plane;
                f->channels = times;
                windows(f);
            }
        }
    }
}

/* All blocks of channels of rows of the output, oy and those that share rows of the input; y is the first of these. */
static inline void nncc_dw_lines(nncc_dw_part *a, nncc_dw_columns *c, nncc_helium_windows *f,
                                 nncc_helium_windows_fn *windows, const int8_t *x, const int8_t *packed, int8_t *y)
{
    const nncc_helium_depthwise_params *p = a->p;

    a->image = x;
    for (int32_t left = p->in_c; left > 0; left -= NNCC_DW_LANES) {
        c->lanes = left < NNCC_DW_LANES ? left : NNCC_DW_LANES;
        for (int32_t ox = 0; ox < p->out_w; ox += p->span) {
            a->ox = ox;
            a->count = p->out_w - ox < p->span ? p->out_w - ox : p->span;
            if (p->span < p->out_w) {
                nncc_helium_fill(a->scratch, p->in_zero, c->lanes * p->plane);
            }
            nncc_dw_bring(a, c);
            nncc_dw_outputs(a, f, windows, c->lanes, packed, y + ox * p->out_pitch);
        }
        a->image += NNCC_DW_LANES;
        y += NNCC_DW_LANES * p->multiplier;
        packed += NNCC_DW_LANES * p->multiplier * NNCC_HELIUM_BYTES * (1 + p->vectors);
    }
}

/* An image: rows of the output that share rows of the input go together, p->rows at a time. */
static inline void nncc_dw_image(nncc_dw_part *a, nncc_dw_columns *c, nncc_helium_windows *f,
                                 nncc_helium_windows_fn *windows, const int8_t *x, const int8_t *packed, int8_t *y)
{
    const nncc_helium_depthwise_params *p = a->p;
    const int32_t slots = p->stride_h * p->phases_h / p->dilation_h; /* rows of the window to the next output */

    for (int32_t k = 0; k < p->phases_h; k++) {
        for (int32_t oy = k; oy < p->out_h; oy += p->phases_h * p->rows) {
            f->rows = (p->out_h - oy + p->phases_h - 1) / p->phases_h;
            f->rows = f->rows < p->rows ? f->rows : p->rows;
            a->rows = p->kernel_h + (f->rows - 1) * slots;
            a->first = oy * p->stride_h - p->pad_top;
            nncc_dw_lines(a, c, f, windows, x, packed, y + oy * p->out_row);
        }
    }
}

void nncc_helium_depthwise_s8(const nncc_helium_depthwise_params *p, const int8_t *x, const int8_t *packed,
                              int8_t *scratch, int8_t *y, nncc_helium_windows_fn *windows)
{
    nncc_helium_windows f;
    nncc_dw_columns c;
    nncc_dw_part a;

    a.p = p;
    a.outside = scratch;
    a.scratch = scratch + NNCC_HELIUM_BYTES;
    nncc_helium_fill(scratch, p->in_zero,
                     NNCC_HELIUM_BYTES + p->plane * (p->in_c < NNCC_DW_LANES ? p->in_c : NNCC_DW_LANES));
    c.plane = p->plane;
    c.pitch = p->pitch;
    f.zero = p->zero;
    f.act_min = p->act_min;
    f.plane = p->multiplier == 1 ? p->plane : 0;
    f.step = p->pitch * (p->stride_w * p->phases_w / p->dilation_w);
    f.row = p->stride_h * p->phases_h / p->dilation_h;
    f.next = 4 * p->out_pitch * p->phases_w;
    f.line = p->phases_h * p->out_row;
    f.vectors = p->vectors;
    for (int32_t n = 0; n < NNCC_DW_LANES; n++) {
        c.at[n] = (uint16_t)(n * p->plane);
    }
    for (int32_t n = 0; n < 4; n++) {
        f.hi[n] = p->act_max;
    }
    for (int32_t n = 0; n < p->batch; n++) {
        nncc_dw_image(&a, &c, &f, windows, x + n * p->in_h * p->in_w * p->in_c, packed, y + n * p->out_image);
    }
}
