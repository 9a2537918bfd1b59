/*
 * nncc_helium_depthwise3x3.h: the body of nncc_helium_depthwise3x3_2*_s8: 8 channels x 2 output rows at a time. An including file
 * defines NNCC_DW_ROUND (NNCC_ROUND_ALL or, for act_min >= zero, NNCC_ROUND_RELU).
 */
#ifndef NNCC_HELIUM_DEPTHWISE3X3_H
#define NNCC_HELIUM_DEPTHWISE3X3_H

#include "nncc_helium_depthwise.h"

/* The horizontal one. */
#define NNCC_DW_STRIDE 2
/* Bytes of a record of 8 channels. */
#define NNCC_DW_RECORD 176

/* Three rows of the input for each of two rows of the output, and what the inner loop stores. */
typedef struct {
    int32_t pitch;         /* 0: output channels */
    int32_t lanes;         /* 4: channels that exist, 1 to 8 */
    int8_t act_min[16];    /* 8 */
    int8_t act_max[16];    /* 24 */
    int32_t zero;          /* 40 */
    const int16_t *row[6];
} nncc_dw_rows;

#if NNCC_HELIUM_MVE

#define NNCC_DW_LOAD(q, row, kx) "vldrh.16 " #q ", [%[" #row "], #16*" #kx "]\n"
/* The leftmost tap of a row comes last and steps on. */
#define NNCC_DW_STEP(q, row) "vldrh.16 " #q ", [%[" #row "]], #16*%c[stride]\n"
#define NNCC_DW_WEIGHT(tap) "vldrb.s16 q0, [%[w], #8*" #tap "]\n"
#define NNCC_DW_FIRST "vmul.i16 q2, q2, q0\nvmul.i16 q3, q3, q0\n"
#define NNCC_DW_SECOND(load_a, load_b)                                                                                             \
    load_a "vmul.i16 q1, q1, q0\nvadd.i16 q2, q2, q1\n" load_b "vmul.i16 q1, q1, q0\nvadd.i16 q3, q3, q1\n"
/* Sums of the even channels to q4 and q6 (second row), of the odd ones to q5 and q7. */
#define NNCC_DW_START "vmovlb.s16 q4, q2\nvmovlt.s16 q5, q2\nvmovlb.s16 q6, q3\nvmovlt.s16 q7, q3\n"
#define NNCC_DW_SUM                                                                                                                \
    "vmovlb.s16 q0, q2\nvmovlt.s16 q1, q2\nvadd.i32 q4, q4, q0\nvadd.i32 q5, q5, q1\n"                                             \
    "vmovlb.s16 q0, q3\nvmovlt.s16 q1, q3\nvadd.i32 q6, q6, q0\nvadd.i32 q7, q7, q1\n"
#define NNCC_DW_ALL4(op, even, odd)                                                                                                \
    op " q4, q4, " even "\n" op " q5, q5, " odd "\n" op " q6, q6, " even "\n" op " q7, q7, " odd "\n"

static void nncc_dw_pixels(const nncc_dw_rows *f, const int8_t *record, int8_t *y0, int8_t *y1, int32_t pixels)
{
    NNCC_REG(const int8_t *, w, "r0", record + NNCC_DW_HEAD);
    NNCC_REG(const nncc_dw_rows *, rows, "r1", f);
    NNCC_REG(int8_t *, to0, "r2", y0);
    NNCC_REG(int8_t *, to1, "r3", y1);
    NNCC_REG(int32_t, n, "lr", pixels);
    NNCC_REG(const int16_t *, a0, "r6", f->row[0]);
    NNCC_REG(const int16_t *, a1, "r8", f->row[1]);
    NNCC_REG(const int16_t *, a2, "r9", f->row[2]);
    NNCC_REG(const int16_t *, b0, "r10", f->row[3]);
    NNCC_REG(const int16_t *, b1, "r11", f->row[4]);
    NNCC_REG(const int16_t *, b2, "r12", f->row[5]);

    __asm volatile("ldrd r4, r5, [%[f]]\n"
                   "vctp.16 r5\n"
                   "ldr r5, [%[f], #40]\n"
                   "dls lr, lr\n"
                   "1:\n"
                   NNCC_DW_WEIGHT(2) NNCC_DW_LOAD(q2, a0, 2) NNCC_DW_LOAD(q3, b0, 2) NNCC_DW_FIRST
                   NNCC_DW_WEIGHT(1) NNCC_DW_SECOND(NNCC_DW_LOAD(q1, a0, 1), NNCC_DW_LOAD(q1, b0, 1)) NNCC_DW_START
                   NNCC_DW_WEIGHT(0) NNCC_DW_STEP(q2, a0) NNCC_DW_STEP(q3, b0) NNCC_DW_FIRST
                   NNCC_DW_WEIGHT(5) NNCC_DW_SECOND(NNCC_DW_LOAD(q1, a1, 2), NNCC_DW_LOAD(q1, b1, 2)) NNCC_DW_SUM
                   NNCC_DW_WEIGHT(4) NNCC_DW_LOAD(q2, a1, 1) NNCC_DW_LOAD(q3, b1, 1) NNCC_DW_FIRST
                   NNCC_DW_WEIGHT(3) NNCC_DW_SECOND(NNCC_DW_STEP(q1, a1), NNCC_DW_STEP(q1, b1)) NNCC_DW_SUM
                   NNCC_DW_WEIGHT(8) NNCC_DW_LOAD(q2, a2, 2) NNCC_DW_LOAD(q3, b2, 2) NNCC_DW_FIRST
                   NNCC_DW_WEIGHT(7) NNCC_DW_SECOND(NNCC_DW_LOAD(q1, a2, 1), NNCC_DW_LOAD(q1, b2, 1)) NNCC_DW_SUM
                   NNCC_DW_WEIGHT(6) NNCC_DW_STEP(q2, a2) NNCC_DW_STEP(q3, b2) NNCC_DW_FIRST NNCC_DW_SUM
                   "vldrw.32 q0, [%[w], #-96]\nvldrw.32 q1, [%[w], #-80]\n" NNCC_DW_ALL4("vadd.i32", "q0", "q1")
                   "vldrw.32 q0, [%[w], #-64]\nvldrw.32 q1, [%[w], #-48]\n" NNCC_DW_ALL4("vqrdmulh.s32", "q0", "q1")
                   NNCC_DW_ROUND(q4, q2) NNCC_DW_ROUND(q5, q3) NNCC_DW_ROUND(q6, q2) NNCC_DW_ROUND(q7, q3)
                   "vldrw.32 q0, [%[w], #-32]\nvldrw.32 q1, [%[w], #-16]\n" NNCC_DW_ALL4("vrshl.s32", "q0", "q1")
                   "vqmovnb.s32 q4, q4\nvqmovnb.s32 q6, q6\nvqmovnt.s32 q4, q5\nvqmovnt.s32 q6, q7\n"
                   "vqadd.s16 q4, q4, r5\nvqadd.s16 q6, q6, r5\n"
                   "vldrb.8 q0, [%[f], #8]\nvldrb.8 q1, [%[f], #24]\n"
                   "vqmovnb.s16 q4, q4\nvqmovnt.s16 q4, q6\n"
                   "vmax.s8 q4, q4, q0\nvmin.s8 q4, q4, q1\n"
                   "vshr.u16 q5, q4, #8\n"
                   "vpstt\n"
                   "vstrbt.16 q4, [%[y0]]\n"
                   "vstrbt.16 q5, [%[y1]]\n"
                   "add %[y0], %[y0], r4\n"
                   "add %[y1], %[y1], r4\n"
                   "le lr, 1b\n"
                   : [y0] "+r"(to0), [y1] "+r"(to1), "+r"(n), [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [b0] "+r"(b0),
                     [b1] "+r"(b1), [b2] "+r"(b2)
                   : [w] "r"(w), [f] "r"(rows), [stride] "n"(NNCC_DW_STRIDE)
                   : "r4", "r5", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");
}

#else

static void nncc_dw_pixels(const nncc_dw_rows *f, const int8_t *record, int8_t *y0, int8_t *y1, int32_t pixels)
{
    const int8_t *w = record + NNCC_DW_HEAD;
    int32_t head[NNCC_DW_HEAD / 4];
    int32_t i;
    int32_t c;
    int32_t r;
    int32_t t;

    memcpy(head, record, sizeof head);
    for (i = 0; i < pixels; i++) {
        for (r = 0; r < 2; r++) {
            for (c = 0; c < f->lanes; c++) {
                int32_t at = c / 2 + c % 2 * 4; /* even channels first */
                uint32_t acc = (uint32_t)head[at];

                for (t = 0; t < 9; t++) {
                    const int16_t *row = f->row[3 * r + t / 3];

                    acc += (uint32_t)(row[(i * NNCC_DW_STRIDE + t % 3) * NNCC_HELIUM_LANES + c] * w[t * NNCC_HELIUM_LANES + c]);
                }
                (r == 0 ? y0 : y1)[i * f->pitch + c] = nncc_rq_s8(acc, head[8 + at], head[16 + at], f->zero, f->act_min[0], f->act_max[0]);
            }
        }
    }
}

#endif

/* The row in scratch `size` elements further on, in a ring that ends at `end`. */
static inline int16_t *nncc_dw_next(int16_t *row, int32_t size, int16_t *scratch, const int16_t *end)
{
    return row + size == end ? scratch : row + size;
}

/* All rows of one image for a block; y is its first output channel. */
static inline void nncc_dw_image(const nncc_helium_depthwise *p, const nncc_dw_block *b, nncc_dw_rows *f, const int8_t *image,
                                 const int8_t *record, int16_t *scratch, int8_t *y)
{
    int32_t size = NNCC_HELIUM_LANES * b->width;
    int32_t ring = (p->stride_h + 3) * size;
    int32_t line = p->out_w * f->pitch;
    const int16_t *end = scratch + ring;
    int16_t *to = scratch; /* where the next row goes */
    int32_t next = 0;      /* its number, counted from the padding */
    int32_t base = 0;      /* the first row of the window */
    int32_t oy;
    int32_t k;

    nncc_widen_fill(scratch, p->in_zero, (p->stride_h + 3) * b->width);
    for (oy = 0; oy < p->out_h; oy += 2) {
        int32_t step = oy + 1 < p->out_h ? p->stride_h : 0;
        int16_t *row;

        for (; next < base + step + 3; next++) {
            if (next >= base && b->inside > 0) {
                nncc_dw_fill(p, b, image, next - p->pad_top, to);
            }
            to = nncc_dw_next(to, size, scratch, end);
        }
        row = to - scratch < (step + 3) * size ? to + ring - (step + 3) * size : to - (step + 3) * size;
        for (k = 0; k < 3; k++) {
            f->row[k] = row;
            row = nncc_dw_next(row, size, scratch, end);
        }
        row = to - scratch < 3 * size ? to + ring - 3 * size : to - 3 * size;
        for (k = 3; k < 6; k++) {
            f->row[k] = row;
            row = nncc_dw_next(row, size, scratch, end);
        }
        nncc_dw_pixels(f, record, y, y + (step > 0 ? line : 0), p->out_w);
        y += 2 * line;
        base += 2 * p->stride_h;
    }
}

static inline void nncc_dw(const nncc_helium_depthwise *p, const int8_t *x, const int8_t *packed, int16_t *scratch, int8_t *y)
{
    int32_t channels = p->in_c * p->multiplier;
    nncc_dw_block b;
    nncc_dw_rows f;
    int32_t n;

    b.width = (p->out_w - 1) * NNCC_DW_STRIDE + 3;
    b.inside = b.width - p->pad_left < p->in_w ? b.width - p->pad_left : p->in_w;
    f.pitch = channels;
    f.zero = p->zero;
    memset(f.act_min, (int)(uint8_t)p->act_min, sizeof f.act_min);
    memset(f.act_max, (int)(uint8_t)p->act_max, sizeof f.act_max);
    for (b.first = 0; b.first < channels; b.first += NNCC_HELIUM_LANES) {
        b.lanes = channels - b.first < NNCC_HELIUM_LANES ? channels - b.first : NNCC_HELIUM_LANES;
        f.lanes = b.lanes;
        for (n = 0; n < p->batch; n++) {
            nncc_dw_image(p, &b, &f, x + n * p->in_h * p->in_w * p->in_c, packed, scratch, y + n * p->out_h * p->out_w * channels + b.first);
        }
        packed += NNCC_DW_RECORD;
    }
}

#endif /* NNCC_HELIUM_DEPTHWISE3X3_H */
