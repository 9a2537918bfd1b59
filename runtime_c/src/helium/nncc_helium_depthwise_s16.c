/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_matmul_s16.h"

/* Channels of a record, and its bytes in front of the weights. */
#define NNCC_LANES 8
#define NNCC_RECORD_HEAD 96

/* The taps of a window that lie inside the image, and where they are, for eight channels. */
typedef struct
{
    const int8_t *x; /* the first one */
    const int8_t *w;
    int32_t rows, cols;
    int32_t x_step; /* bytes from a tap to the next */
    int32_t x_row;  /* from behind a row of taps to the next row */
    int32_t w_row;
    int32_t lanes; /* channels that count */
} nncc_taps16;

#if NNCC_HELIUM_ASM

#define NNCC_TAP16(load) \
    load "vldrb.s16 q3,[r3],#8\nvmullb.s16 q4,q0,q3\nvadd.i32 q1,q1,q4\nvmullt.s16 q4,q0,q3\nvadd.i32 q2,q2,q4\n" \
         "add r1,r1,r6\n"
#define NNCC_LOAD16 "vldrh.16 q0,[r1]\n"
#define NNCC_GATHER16 "vpst\nvldrht.u16 q0,[r1,q7,uxtw #1]\n"
/* Any number of columns, and three of them. */
#define NNCC_ROWS16(load) \
    "1:\ndls lr,r10\n2:\n" NNCC_TAP16(load) "le lr,2b\nadd r1,r1,r8\nadd r3,r3,r9\nsubs r4,r4,#1\nbne 1b\n"
#define NNCC_THREE16(load) \
    "dls lr,r4\n1:\n" NNCC_TAP16(load) NNCC_TAP16(load) NNCC_TAP16(load) "add r1,r1,r8\nadd r3,r3,r9\nle lr,1b\n"
/* clang-format off */
#define NNCC_BLOCK16(begin, rows, store) \
    __asm volatile(begin \
                   "vldrw.32 q1,[r12]\n" \
                   "vldrw.32 q2,[r12,#16]\n" \
                   rows \
                   "vldrw.32 q3,[r12,#32]\n" \
                   "vldrw.32 q4,[r12,#48]\n" \
                   "vqdmulh.s32 q1,q1,q3\n" \
                   "vqdmulh.s32 q2,q2,q4\n" \
                   "vldrw.32 q3,[r12,#64]\n" \
                   "vldrw.32 q4,[r12,#80]\n" \
                   "vrshl.s32 q1,q1,q3\n" \
                   "vrshl.s32 q2,q2,q4\n" \
                   "vqmovnb.s32 q1,q1\n" \
                   "vqmovnt.s32 q1,q2\n" \
                   "ldrd r4,r6,[r0]\n" \
                   "vdup.16 q3,r4\n" \
                   "vdup.16 q4,r6\n" \
                   "vmax.s16 q1,q1,q3\n" \
                   "vmin.s16 q1,q1,q4\n" \
                   store \
                   : "+r"(x), "+r"(w), "+r"(n), "+r"(step) \
                   : "r"(to), "r"(x_row), "r"(w_row), "r"(cols), "r"(head), "r"(clamp), "r"(at), "r"(lanes) \
                   : "lr", "q0", "q1", "q2", "q3", "q4", "q7", "cc", "memory")
/* clang-format on */

/* Eight outputs: lanes that count and, where `offsets` is not NULL, the inputs of all lanes from x on. */
static void nncc_block16(const nncc_helium_depthwise16_params *p, const nncc_taps16 *t, const int8_t *record,
                         const uint16_t *offsets, int8_t *y)
{
    const int32_t limits[2] = {p->act_min, p->act_max};
    NNCC_REG(const int32_t *, clamp, "r0", limits);
    NNCC_REG(const int8_t *, x, "r1", t->x);
    NNCC_REG(const uint16_t *, at, "r2", offsets);
    NNCC_REG(const int8_t *, w, "r3", t->w);
    NNCC_REG(int32_t, n, "r4", t->rows);
    NNCC_REG(int8_t *, to, "r5", y);
    NNCC_REG(int32_t, step, "r6", t->x_step);
    NNCC_REG(int32_t, x_row, "r8", t->x_row);
    NNCC_REG(int32_t, w_row, "r9", t->w_row);
    NNCC_REG(int32_t, cols, "r10", t->cols);
    NNCC_REG(int32_t, lanes, "r11", t->lanes);
    NNCC_REG(const int8_t *, head, "r12", record);

    if (offsets != NULL) {
        NNCC_BLOCK16("vldrh.16 q7,[r2]\nvctp.16 r11\n", NNCC_ROWS16(NNCC_GATHER16), "vpst\nvstrht.16 q1,[r5]\n");
    } else if (t->cols == 3) {
        NNCC_BLOCK16("", NNCC_THREE16(NNCC_LOAD16), "vstrh.16 q1,[r5]\n");
    } else {
        NNCC_BLOCK16("", NNCC_ROWS16(NNCC_LOAD16), "vstrh.16 q1,[r5]\n");
    }
}

#elif NNCC_HELIUM_MVE

/* Every tap of the window: LOAD gives the inputs of its lanes. */
#define NNCC_TAP16(load) \
    do { \
        const int16x8_t v = load, k = vldrbq_s16(w); \
\
        even = vaddq_s32(even, vmullbq_int_s16(v, k)); \
        odd = vaddq_s32(odd, vmulltq_int_s16(v, k)); \
        x += step; \
        w += NNCC_LANES; \
    } while (0)
#define NNCC_ROWS16(row) \
    do { \
        row; \
        x += x_row; \
        w += w_row; \
    } while (--rows > 0)
#define NNCC_COLS16(load) \
    for (int32_t n = cols; n > 0; n--) { \
        NNCC_TAP16(load); \
    }
#define NNCC_THREE16(load) \
    NNCC_TAP16(load); \
    NNCC_TAP16(load); \
    NNCC_TAP16(load)

/* Eight outputs: lanes that count and, where `offsets` is not NULL, the inputs of all lanes from x on. */
static void nncc_block16(const nncc_helium_depthwise16_params *p, const nncc_taps16 *t, const int8_t *record,
                         const uint16_t *offsets, int8_t *y)
{
    const int8_t *x = t->x, *w = t->w;
    const int32_t step = t->x_step, x_row = t->x_row, w_row = t->w_row, cols = t->cols;
    int32_t rows = t->rows;
    int32x4_t even = nncc_words(record), odd = nncc_words(record + 16);
    int16x8_t out;

    if (offsets != NULL) {
        const mve_pred16_t lanes = vctp16q((uint32_t)t->lanes);
        const uint16x8_t at = vldrhq_u16(offsets);

        NNCC_ROWS16(NNCC_COLS16(vldrhq_gather_shifted_offset_z_s16((const int16_t *)(const void *)x, at, lanes)));
    } else if (cols == 3) {
        NNCC_ROWS16(NNCC_THREE16(nncc_inputs16(x)));
    } else {
        NNCC_ROWS16(NNCC_COLS16(nncc_inputs16(x)));
    }
    even = vrshlq_s32(vqdmulhq_s32(even, nncc_words(record + 32)), nncc_words(record + 64));
    odd = vrshlq_s32(vqdmulhq_s32(odd, nncc_words(record + 48)), nncc_words(record + 80));
    out = vqmovntq_s32(vqmovnbq_s32(vreinterpretq_s16_s32(even), even), odd);
    out = vmaxq_s16(out, vdupq_n_s16((int16_t)p->act_min));
    out = vminq_s16(out, vdupq_n_s16((int16_t)p->act_max));
    if (offsets != NULL) {
        vstrhq_p_s16((int16_t *)(void *)y, out, vctp16q((uint32_t)t->lanes));
    } else {
        vstrhq_s16((int16_t *)(void *)y, out);
    }
}

#else

static void nncc_block16(const nncc_helium_depthwise16_params *p, const nncc_taps16 *t, const int8_t *record,
                         const uint16_t *offsets, int8_t *y)
{
    int32_t head[NNCC_RECORD_HEAD / 4];
    int32_t c;

    memcpy(head, record, sizeof head);
    for (c = 0; c < t->lanes; c++) {
        const int32_t lane = c / 2 + c % 2 * 4, from = 2 * (offsets != NULL ? offsets[c] : c);
        const int8_t *x = t->x, *w = t->w;
        uint32_t acc = (uint32_t)head[lane];
        int32_t r, k, v;
        int16_t out;

        for (r = 0; r < t->rows; r++) {
            for (k = 0; k < t->cols; k++) {
                int16_t a;

                memcpy(&a, x + from, sizeof a);
                acc += (uint32_t)(a * w[c]);
                x += t->x_step;
                w += NNCC_LANES;
            }
            x += t->x_row;
            w += t->w_row;
        }
        v = nncc_rounded16((int32_t)acc, head[8 + lane], -head[16 + lane]);
        v = v < p->act_min ? p->act_min : v;
        out = (int16_t)(v > p->act_max ? p->act_max : v);
        memcpy(y + 2 * c, &out, sizeof out);
    }
}

#endif

/* All channels of a pixel, whose taps from number `tap` on are given for channel 0; -1: none. */
static void nncc_pixel16(const nncc_helium_depthwise16_params *p, const nncc_taps16 *taps, int32_t tap,
                         const int8_t *packed, int8_t *y)
{
    static const int8_t none[NNCC_LANES] = {0};
    const int32_t record = p->record;
    nncc_taps16 t = *taps;
    int32_t at;

    for (at = 0; at < p->channels; at += NNCC_LANES) {
        const int32_t first =
            at + NNCC_LANES <= p->channels || p->channels < NNCC_LANES ? at : p->channels - NNCC_LANES;
        uint16_t offsets[NNCC_LANES];
        int32_t i;

        t.x = taps->x + 2 * (first / p->multiplier);
        t.w = tap < 0 ? none : packed + NNCC_RECORD_HEAD + NNCC_LANES * tap;
        t.lanes = p->channels - first < NNCC_LANES ? p->channels - first : NNCC_LANES;
        if (p->multiplier > 1 || p->channels < NNCC_LANES) {
            for (i = 0; i < NNCC_LANES; i++) {
                offsets[i] = (uint16_t)((first + i) / p->multiplier - first / p->multiplier);
            }
            nncc_block16(p, &t, packed, offsets, y + 2 * first);
        } else {
            nncc_block16(p, &t, packed, NULL, y + 2 * first);
        }
        packed += record;
    }
}

/* A function by itself: it is called in two places, and its bytes count for more than the call. */
#if defined(__GNUC__)
#define NNCC_APART __attribute__((noinline))
#else
#define NNCC_APART
#endif

/* The taps [*first, *last) of one dimension that meet the image; none: *first >= *last. */
static NNCC_APART void nncc_inside16(int32_t start, int32_t taps, int32_t dilation, int32_t size, int32_t *first,
                                     int32_t *last)
{
    *first = start < 0 ? (dilation - 1 - start) / dilation : 0;
    *last = start + (taps - 1) * dilation < size ? taps : (size - start + dilation - 1) / dilation;
}

/* The taps of the window at a pixel that lie inside the image x, and the number of the first one; where there are none,
 * a tap by 0 and -1. */
static int32_t nncc_window16(const nncc_helium_depthwise16_params *p, const int8_t *x, int32_t top, int32_t left,
                             nncc_taps16 *t)
{
    const int32_t pixel = 2 * p->in_c, row = p->in_w * pixel;
    int32_t y0, y1, x0, x1;

    nncc_inside16(top, p->kernel_h, p->dilation_h, p->in_h, &y0, &y1);
    nncc_inside16(left, p->kernel_w, p->dilation_w, p->in_w, &x0, &x1);
    t->x = x;
    t->x_step = p->dilation_w * pixel;
    t->rows = 1;
    t->cols = 1;
    if (y0 >= y1 || x0 >= x1) {
        return -1;
    }
    t->x += (top + y0 * p->dilation_h) * row + (left + x0 * p->dilation_w) * pixel;
    t->rows = y1 - y0;
    t->cols = x1 - x0;
    t->x_row = p->dilation_h * row - t->cols * t->x_step;
    t->w_row = NNCC_LANES * (p->kernel_w - t->cols);
    return y0 * p->kernel_w + x0;
}

void nncc_helium_depthwise_s16(const nncc_helium_depthwise16_params *p, const int8_t *x, const int8_t *packed,
                               int8_t *y)
{
    nncc_taps16 t = {NULL, NULL, 0, 0, 0, 0, 0, 0};
    int32_t n, oy, ox;

    for (n = 0; n < p->batch; n++) {
        for (oy = 0; oy < p->out_h; oy++) {
            int8_t *to = y + n * p->out_image + oy * p->out_row;

            for (ox = 0; ox < p->out_w; ox++) {
                const int32_t tap =
                    nncc_window16(p, x, oy * p->stride_h - p->pad_top, ox * p->stride_w - p->pad_left, &t);

                nncc_pixel16(p, &t, tap, packed, to);
                to += p->out_pitch;
            }
        }
        x += 2 * p->in_h * p->in_w * p->in_c;
    }
}
