/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_core.h"

/* Channels of a record, its bytes in front of the weights, and what says where inputs are in front of those. */
#define NNCC_LANES 8
#define NNCC_RECORD_HEAD 96
#define NNCC_RECORD_PLACES 32

/* The taps of a window that lie inside the image, and the way through them, in bytes. The assembly has the offsets. */
typedef struct
{
    int32_t rows;   /* 0: of taps; 0: none is inside */
    int32_t cols;   /* 4 */
    int32_t x_step; /* 8: from a tap to the next */
    int32_t x_row;  /* 12: from behind a row of taps to the next */
    int32_t w_row;  /* 16 */
    int32_t first;  /* 20: from the head of a record to the first tap inside */
    int32_t behind; /* 24: from behind the last row to the next record */
    int32_t x_next; /* 28: from behind the last row to the inputs of the next eight channels */
    int32_t lo, hi; /* 32, 36 */
    int32_t blocks; /* 40: of eight channels */
    int32_t lanes;  /* 44: channels of a block that count */
    int32_t places; /* bytes of a record that say where inputs are; 0: side by side */
} nncc_taps16;

#if NNCC_HELIUM_ASM

#define NNCC_TAP16(load) \
    load "vldrb.s16 q3,[r3],#8\nvmullb.s16 q4,q0,q3\nvadd.i32 q1,q1,q4\nvmullt.s16 q4,q0,q3\nvadd.i32 q2,q2,q4\n" \
         "add r1,r1,r6\n"
#define NNCC_LOAD16 "vldrh.16 q0,[r1]\n"
#define NNCC_GATHER16 "vpst\nvldrht.u16 q0,[r1,q7,uxtw #1]\n"
/* Any number of columns, and three of them. */
#define NNCC_ROWS16(load) \
    "2:\ndls lr,r10\n3:\n" NNCC_TAP16(load) "le lr,3b\nadd r1,r1,r8\nadd r3,r3,r9\nsubs r4,r4,#1\nbne 2b\n"
#define NNCC_THREE16(load) \
    "dls lr,r4\n2:\n" NNCC_TAP16(load) NNCC_TAP16(load) NNCC_TAP16(load) "add r1,r1,r8\nadd r3,r3,r9\nle lr,2b\n"
/* clang-format off */
#define NNCC_BLOCKS16(begin, place, rows, store, next) \
    __asm volatile("ldrd r2,r4,[r0,#32]\n" \
                   "vdup.16 q5,r2\n" \
                   "vdup.16 q6,r4\n" \
                   "ldrd r6,r8,[r0,#8]\n" \
                   "ldr r9,[r0,#16]\n" \
                   "ldr r11,[r0,#40]\n" \
                   begin \
                   "1:\n" \
                   place \
                   "ldrd r4,r10,[r0]\n" \
                   "ldr lr,[r0,#20]\n" \
                   "mov r12,r3\n" \
                   "vldrw.32 q1,[r3]\n" \
                   "vldrw.32 q2,[r3,#16]\n" \
                   "add r3,r3,lr\n" \
                   "cmp r4,#0\n" \
                   "beq 4f\n" \
                   rows \
                   "4:\n" \
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
                   "vmax.s16 q1,q1,q5\n" \
                   "vmin.s16 q1,q1,q6\n" \
                   store \
                   "ldrd r4,r10,[r0,#24]\n" \
                   "add r3,r3,r4\n" \
                   next \
                   "subs r11,r11,#1\n" \
                   "bne 1b\n" \
                   : "+r"(x), "+r"(w), "+r"(to) \
                   : "r"(taps) \
                   : "r2", "r4", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", \
                     "q7", "cc", "memory")
/* clang-format on */

/* The outputs of blocks whose inputs are neighbours, or, `places`, where the records say. */
static void nncc_blocks16(const nncc_taps16 *t, int32_t places, const int8_t *from, const int8_t *records, int8_t *y)
{
    NNCC_REG(const nncc_taps16 *, taps, "r0", t);
    NNCC_REG(const int8_t *, x, "r1", from);
    NNCC_REG(const int8_t *, w, "r3", records);
    NNCC_REG(int8_t *, to, "r5", y);

    if (places != 0) {
        NNCC_BLOCKS16("ldr r2,[r0,#44]\nvctp.16 r2\nmov r2,r1\n",
                      "vldrh.16 q7,[r3],#16\nldr r1,[r3],#16\nadd r1,r1,r2\n", NNCC_ROWS16(NNCC_GATHER16),
                      "vpst\nvstrht.16 q1,[r5],#16\n", "");
    } else {
        NNCC_BLOCKS16("", "", "cmp r10,#3\nbeq 5f\n" NNCC_ROWS16(NNCC_LOAD16) "b 4f\n5:\n" NNCC_THREE16(NNCC_LOAD16),
                      "vstrh.16 q1,[r5],#16\n", "add r1,r1,r10\n");
    }
}

#elif NNCC_HELIUM_MVE

/* The outputs of blocks whose inputs are neighbours, or, `places`, where the records say. */
static void nncc_blocks16(const nncc_taps16 *t, int32_t places, const int8_t *from, const int8_t *w, int8_t *y)
{
    const mve_pred16_t lanes = vctp16q((uint32_t)t->lanes);
    const int16x8_t lo = vdupq_n_s16((int16_t)t->lo), hi = vdupq_n_s16((int16_t)t->hi);
    const int8_t *x = from;

    for (int32_t b = t->blocks; b > 0; b--) {
        uint16x8_t at = vidupq_n_u16(0, 1);
        const int8_t *head;
        int32x4_t even, odd;

        if (places != 0) {
            int32_t place;

            at = vldrhq_u16((const uint16_t *)(const void *)w);
            memcpy(&place, w + 16, sizeof place);
            x = from + place;
            w += NNCC_RECORD_PLACES;
        }
        head = w;
        even = nncc_words(head);
        odd = nncc_words(head + 16);
        w += t->first;
        for (int32_t r = t->rows; r > 0; r--) {
            for (int32_t n = t->cols; n > 0; n--) {
                const int16_t *const in = (const int16_t *)(const void *)x;
                const int16x8_t v = places != 0 ? vldrhq_gather_shifted_offset_z_s16(in, at, lanes) : vldrhq_s16(in);
                const int16x8_t k = vldrbq_s16(w);

                even = vaddq_s32(even, vmullbq_int_s16(v, k));
                odd = vaddq_s32(odd, vmulltq_int_s16(v, k));
                x += t->x_step;
                w += NNCC_LANES;
            }
            x += t->x_row;
            w += t->w_row;
        }
        even = vrshlq_s32(vqdmulhq_s32(even, nncc_words(head + 32)), nncc_words(head + 64));
        odd = vrshlq_s32(vqdmulhq_s32(odd, nncc_words(head + 48)), nncc_words(head + 80));
        int16x8_t out = vqmovntq_s32(vqmovnbq_s32(vreinterpretq_s16_s32(even), even), odd);
        out = vminq_s16(vmaxq_s16(out, lo), hi);
        vstrhq_p_s16((int16_t *)(void *)y, out, lanes);
        y += 2 * NNCC_LANES;
        w += t->behind;
        x += t->x_next;
    }
}

#else

static void nncc_blocks16(const nncc_taps16 *t, int32_t places, const int8_t *from, const int8_t *records, int8_t *y)
{
    for (int32_t b = 0; b < t->blocks; b++) {
        const int8_t *base = from + 2 * NNCC_LANES * b, *w = NULL;
        int32_t head[NNCC_RECORD_HEAD / 4];
        uint16_t at[NNCC_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};

        if (places != 0) {
            int32_t place;

            memcpy(at, records, sizeof at);
            memcpy(&place, records + 16, sizeof place);
            base = from + place;
            records += NNCC_RECORD_PLACES;
        }
        memcpy(head, records, sizeof head);
        for (int32_t c = 0; c < NNCC_LANES; c++) {
            const int32_t lane = c / 2 + c % 2 * 4;
            const int8_t *x = base;
            uint32_t acc = (uint32_t)head[lane];

            w = records + t->first;
            for (int32_t r = 0; r < t->rows; r++) {
                for (int32_t k = 0; k < t->cols; k++) {
                    acc += (uint32_t)((c < t->lanes ? nncc_input16(x, at[c]) : 0) * w[c]);
                    x += t->x_step;
                    w += NNCC_LANES;
                }
                x += t->x_row;
                w += t->w_row;
            }
            if (c < t->lanes) {
                nncc_result16(nncc_rounded16((int32_t)acc, head[8 + lane], -head[16 + lane]), t->lo, t->hi,
                              y + 2 * (NNCC_LANES * b + c));
            }
        }
        records = w + t->behind;
    }
}

#endif

/* All channels of a pixel. */
static void nncc_pixel16(const nncc_helium_depthwise16_params *p, nncc_taps16 *t, const int8_t *x, const int8_t *packed,
                         int8_t *y)
{
    const int32_t places = t->places;
    const int32_t blocks = p->channels / NNCC_LANES;

    if (blocks > 0) {
        t->blocks = blocks;
        nncc_blocks16(t, places, x, packed, y);
    }
    if (p->channels % NNCC_LANES != 0) { /* the last eight again */
        const int32_t first = blocks > 0 ? p->channels - NNCC_LANES : 0;

        t->blocks = 1;
        nncc_blocks16(t, places, x + (places != 0 ? 0 : 2 * first), packed + blocks * p->record, y + 2 * first);
    }
}

/*
 * The taps [*first, *last) of one dimension that meet the image; none: *first >= *last. Called in two places, and its
 * bytes count for more than the call.
 */
static NNCC_APART void nncc_inside16(int32_t start, int32_t taps, int32_t dilation, int32_t size, int32_t *first,
                                     int32_t *last)
{
    *first = start < 0 ? (dilation - 1 - start) / dilation : 0;
    *last = start + (taps - 1) * dilation < size ? taps : (size - start + dilation - 1) / dilation;
}

/* A row of the output; x is the image. */
static void nncc_line16(const nncc_helium_depthwise16_params *p, nncc_taps16 *t, int32_t top, const int8_t *x,
                        const int8_t *packed, int8_t *y)
{
    const int32_t pixel = 2 * p->in_c, row = p->in_w * pixel, down = p->dilation_h * row;
    /* The last window whose columns are all inside. */
    const int32_t last = p->in_w - 1 - (p->kernel_w - 1) * p->dilation_w;
    const int8_t *from = x;
    int32_t left = -p->pad_left, whole = 0, y0, y1; /* whole: the last window had all columns inside */

    nncc_inside16(top, p->kernel_h, p->dilation_h, p->in_h, &y0, &y1);
    for (int32_t ox = p->out_w; ox > 0; ox--) {
        if (whole != 0 && left <= last) {
            from += p->stride_w * pixel;
        } else {
            int32_t x0, x1;

            nncc_inside16(left, p->kernel_w, p->dilation_w, p->in_w, &x0, &x1);
            t->rows = 0;
            t->cols = 0;
            t->first = 0;
            from = x;
            if (y0 < y1 && x0 < x1) {
                t->rows = y1 - y0;
                t->cols = x1 - x0;
                t->first = NNCC_LANES * (y0 * p->kernel_w + x0);
                from += (top + y0 * p->dilation_h) * row + (left + x0 * p->dilation_w) * pixel;
            }
            whole = t->cols == p->kernel_w ? 1 : 0;
            t->x_row = down - t->cols * t->x_step;
            t->w_row = NNCC_LANES * (p->kernel_w - t->cols);
            t->first += NNCC_RECORD_HEAD;
            t->behind = p->record - t->places - t->first - NNCC_LANES * t->rows * p->kernel_w;
            t->x_next = 2 * NNCC_LANES - t->rows * down;
        }
        nncc_pixel16(p, t, from, packed, y);
        y += p->out_pitch;
        left += p->stride_w;
    }
}

void nncc_helium_depthwise_s16(const nncc_helium_depthwise16_params *p, const int8_t *x, const int8_t *packed,
                               int8_t *y)
{
    nncc_taps16 t;

    t.x_step = p->dilation_w * 2 * p->in_c;
    t.places = p->multiplier > 1 || p->channels < NNCC_LANES ? NNCC_RECORD_PLACES : 0;
    t.lo = p->act_min;
    t.hi = p->act_max;
    t.lanes = p->channels < NNCC_LANES ? p->channels : NNCC_LANES;
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            nncc_line16(p, &t, oy * p->stride_h - p->pad_top, x, packed, y + n * p->out_image + oy * p->out_row);
        }
        x += 2 * p->in_h * p->in_w * p->in_c;
    }
}
