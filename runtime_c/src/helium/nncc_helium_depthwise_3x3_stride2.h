/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_depthwise_3x3_stride2.h: the body of nncc_helium_depthwise_3x3_stride2*_s8: pixel by pixel, 16 channels
 * at a time, from the image. Rows outside of it are a constant pixel that repeats itself; windows that stick out at the
 * sides are copied first.
 */
#include "nncc_helium_depthwise_16.h"

/* The horizontal one: the last column of a window is the first of the next one. */
#define NNCC_DW_STRIDE 2
/* A record with the taps. */
#define NNCC_DW16_RECORD (NNCC_DW16_HEAD + 144)

/* Pixels side by side; the assembly has the offsets. */
typedef struct
{
    int32_t pitch;        /* 0: output channels */
    int32_t zero;         /* 4 */
    int32_t lanes;        /* 8: channels, 1 to 16 */
    int32_t pixels;       /* 12: at least 1 */
    uint8_t lo[16];       /* 16 */
    uint8_t hi[16];       /* 32: less the zero point with NNCC_3X3_RELU */
    const int8_t *row[3]; /* 48: of the window */
    int32_t step[3];      /* 60: bytes from a column to the next */
    int32_t act_min;
    int32_t act_max;
} nncc_dw_pixels;

#if NNCC_HELIUM_ASM

static void nncc_dw_run(const nncc_dw_pixels *f, const int8_t *record, int8_t *to)
{
    NNCC_REG(const int8_t *, w, "r0", record);
    NNCC_REG(const nncc_dw_pixels *, frame, "r1", f);
    NNCC_REG(int8_t *, y, "r2", to);
    NNCC_REG(int32_t, pitch, "r3", f->pitch);
    NNCC_REG(int32_t, zero, "r4", NNCC_DW_ZERO(f, record));
    NNCC_REG(int32_t, n, "lr", f->pixels);

    /* clang-format off */
    __asm volatile("ldr r5, [%[f], #8]\n"
                   "vctp.8 r5\n"
                   "ldrd r5, r6, [%[f], #48]\n"
                   "ldrd r8, r9, [%[f], #56]\n"
                   "ldrd r10, r11, [%[f], #64]\n"
                   NNCC_DW_SCALARS
                   "dls lr, lr\n"
                   "1:\n"
                   NNCC_DW_FIRST(0, "[r5]", "add r5, r5, r9\n")
                   NNCC_DW_SECOND(1, "[r5]", "[r5]", "add r5, r5, r9\n")
                   NNCC_DW_START
                   NNCC_DW_FIRST(2, "[r5]", "")
                   NNCC_DW_SECOND(3, "[r6]", "[r6]", "add r6, r6, r10\n")
                   NNCC_DW_SUM
                   NNCC_DW_FIRST(4, "[r6]", "add r6, r6, r10\n")
                   NNCC_DW_SECOND(5, "[r6]", "[r6]", "")
                   NNCC_DW_SUM
                   NNCC_DW_FIRST(6, "[r8]", "add r8, r8, r11\n")
                   NNCC_DW_SECOND(7, "[r8]", "[r8]", "add r8, r8, r11\n")
                   NNCC_DW_SUM
                   NNCC_DW_FIRST(8, "[r8]", "")
                   NNCC_DW_SUM
                   NNCC_DW_BYTES
                   "vpst\n"
                   "vstrbt.8 q4, [%[y]]\n"
                   "add %[y], %[y], %[pitch]\n"
                   "le lr, 1b\n"
                   : [y] "+r"(y), "+r"(n)
                   : [w] "r"(w), [f] "r"(frame), [pitch] "r"(pitch), [zero] "r"(zero)
                   : "r5", "r6", "r8", "r9", "r10", "r11", "r12", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc",
                     "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

NNCC_MVE_IN_ORDER static void nncc_dw_run(const nncc_dw_pixels *f, const int8_t *record, int8_t *y)
{
    const mve_pred16_t lanes = vctp8q((uint32_t)f->lanes);
#if NNCC_3X3_UPPER
    const int32_t scale = nncc_dw_word(record + 128), zero = nncc_dw_word(record + 132);
#else
    const int32_t zero = f->zero;
#endif
    const int32_t pitch = f->pitch, a = f->step[0], b = f->step[1], c = f->step[2];
    const int8_t *volatile const weights = record + NNCC_DW16_BIAS;
    const int8_t *x0 = f->row[0], *x1 = f->row[1], *x2 = f->row[2];

    for (int32_t n = f->pixels; n > 0; n--) {
        const int8_t *const w = weights;
        int16x8_t even, odd;
        int32x4_t s0, s1, s2, s3;

        NNCC_DW_FIRST(0, vldrbq_s8(x0));
        x0 += a;
        NNCC_DW_SECOND(1, vldrbq_s8(x0));
        x0 += a;
        s0 = vmovlbq_s16(even);
        s1 = vmovltq_s16(even);
        s2 = vmovlbq_s16(odd);
        s3 = vmovltq_s16(odd);
        NNCC_DW_FIRST(2, vldrbq_s8(x0));
        NNCC_DW_SECOND(3, vldrbq_s8(x1));
        NNCC_DW_SUM;
        x1 += b;
        NNCC_DW_FIRST(4, vldrbq_s8(x1));
        x1 += b;
        NNCC_DW_SECOND(5, vldrbq_s8(x1));
        NNCC_DW_SUM;
        NNCC_DW_FIRST(6, vldrbq_s8(x2));
        x2 += c;
        NNCC_DW_SECOND(7, vldrbq_s8(x2));
        x2 += c;
        NNCC_DW_SUM;
        NNCC_DW_FIRST(8, vldrbq_s8(x2));
        NNCC_DW_SUM;
        s0 = NNCC_DW_SCALED(s0, 0);
        s1 = NNCC_DW_SCALED(s1, 16);
        s2 = NNCC_DW_SCALED(s2, 32);
        s3 = NNCC_DW_SCALED(s3, 48);
        vstrbq_p_s8(y, nncc_3x3_bytes(f->lo, f->hi, zero, s0, s1, s2, s3), lanes);
        y += pitch;
    }
}

#else

/* Channels of a record have the order 0, 4, 8, 12, 2, 6, 10, 14, then the odd ones alike. */
static void nncc_dw_run(const nncc_dw_pixels *f, const int8_t *record, int8_t *to)
{
    int32_t head[NNCC_DW16_HEAD / 4];

    memcpy(head, record, sizeof head);
    for (int32_t i = 0; i < f->pixels; i++) {
        for (int32_t c = 0; c < f->lanes; c++) {
            const int32_t at = c / 4 + c % 4 / 2 * 4 + c % 2 * 8;
            int32_t acc = 0;

            for (int32_t t = 0; t < 9; t++) {
                const int8_t *x = f->row[t / 3] + (i * NNCC_DW_STRIDE + t % 3) * f->step[t / 3];

                acc += x[c] * record[NNCC_DW16_HEAD + NNCC_HELIUM_BYTES * t + c];
            }
#if NNCC_3X3_UPPER
            to[c] = nncc_upper_s8(acc, head[32], head[at], 0, head[16 + at], head[33]);
#else
            to[c] = nncc_rq_s8((uint32_t)acc + (uint32_t)head[at], head[16 + at], head[32 + at], f->zero, f->act_min,
                               f->act_max);
#endif
        }
        to += f->pitch;
    }
}

#endif

/* A block of up to 16 channels of all images. */
typedef struct
{
    const int8_t *packed;
    int32_t left;    /* outputs of a row whose windows stick out at the left */
    int32_t end;     /* the first one whose window sticks out at the right */
    int8_t *outside; /* 16 times the input's zero point */
    int8_t *window;  /* 9 times 16 channels */
} nncc_dw_block16;

/* Outputs [from, to) of a row whose windows stick out; x are the rows of the image, with steps of 0 outside. */
static inline void nncc_dw_sides(const nncc_helium_depthwise_3x3_params *p, const nncc_dw_block16 *b, nncc_dw_pixels *f,
                                 const int8_t *const *x, const int32_t *step, int32_t from, int32_t to, int8_t *y)
{
    f->pixels = 1;
    for (int32_t r = 0; r < 3; r++) {
        f->row[r] = b->window + 3 * NNCC_HELIUM_BYTES * r;
        f->step[r] = NNCC_HELIUM_BYTES;
    }
    for (; from < to; from++) {
        const int32_t ix = NNCC_DW_STRIDE * from - p->pad_left;
        const int32_t first = ix < 0 ? (ix > -3 ? -ix : 3) : 0; /* the columns in the image */
        const int32_t end = ix + 3 <= p->in_w ? 3 : (p->in_w - ix > first ? p->in_w - ix : first);
        int8_t *w = b->window;

        for (int32_t r = 0; r < 3; r++) {
            const nncc_pieces in = {f->lanes, step[r], NNCC_HELIUM_BYTES, end - first};

            nncc_helium_fill(w, p->in_zero, NNCC_HELIUM_BYTES * first);
            if (end > first) {
                nncc_helium_gather(w + NNCC_HELIUM_BYTES * first, x[r] + (ix + first) * step[r], &in);
            }
            nncc_helium_fill(w + NNCC_HELIUM_BYTES * end, p->in_zero, NNCC_HELIUM_BYTES * (3 - end));
            w += 3 * NNCC_HELIUM_BYTES;
        }
        nncc_dw_run(f, b->packed, y + from * f->pitch);
    }
}

/* A row of all blocks: iy is the first row of its windows. `tail`: a vector of the input's last pixel would leave the
 * tensor. */
static inline void nncc_dw_line(const nncc_helium_depthwise_3x3_params *p, nncc_dw_block16 *b, nncc_dw_pixels *f,
                                const int8_t *image, int32_t iy, int32_t tail, int8_t *y)
{
    const int32_t channels = p->in_c, last = channels - f->lanes;
    const int32_t end = tail != 0 && iy + 2 >= p->in_h - 1 ? b->end - 1 : b->end;
    const int32_t first = NNCC_DW_STRIDE * b->left - p->pad_left;
    const int8_t *x[3];
    int32_t step[3];
    int32_t done = 0;

    for (int32_t r = 0; r < 3; r++) {
        const int32_t inside = iy + r >= 0 && iy + r < p->in_h;

        step[r] = inside ? channels : 0;
        x[r] = inside ? image + (iy + r) * p->in_w * channels : b->outside;
    }
    for (;;) {
        nncc_dw_sides(p, b, f, x, step, 0, b->left, y);
        nncc_dw_sides(p, b, f, x, step, end > b->left ? end : b->left, p->out_w, y);
        if (end > b->left) {
            for (int32_t r = 0; r < 3; r++) {
                f->row[r] = x[r] + first * step[r];
                f->step[r] = step[r];
            }
            f->pixels = end - b->left;
            nncc_dw_run(f, b->packed, y + b->left * f->pitch);
        }
        if (done == last) {
            return;
        }
        for (int32_t r = 0; r < 3; r++) { /* on by a block, the last one over some channels of the one before */
            x[r] += step[r] == 0 ? 0 : (last - done < NNCC_HELIUM_BYTES ? last - done : NNCC_HELIUM_BYTES);
        }
        y += last - done < NNCC_HELIUM_BYTES ? last - done : NNCC_HELIUM_BYTES;
        done += last - done < NNCC_HELIUM_BYTES ? last - done : NNCC_HELIUM_BYTES;
        b->packed += NNCC_DW16_RECORD;
    }
}

static inline void nncc_depthwise_3x3(const nncc_helium_depthwise_3x3_params *p, const int8_t *x, const int8_t *packed,
                                      int8_t *scratch, int8_t *y)
{
    nncc_dw_block16 b;
    nncc_dw_pixels f;

    b.outside = scratch;
    b.window = scratch + NNCC_HELIUM_BYTES;
    b.left = (p->pad_left + NNCC_DW_STRIDE - 1) / NNCC_DW_STRIDE;
    b.left = b.left < p->out_w ? b.left : p->out_w;
    b.end = p->in_w + p->pad_left < 3 ? 0 : (p->in_w + p->pad_left - 3) / NNCC_DW_STRIDE + 1;
    b.end = b.end < p->out_w ? b.end : p->out_w;
    nncc_helium_fill(b.outside, p->in_zero, NNCC_HELIUM_BYTES);
    f.pitch = p->in_c;
    f.zero = p->zero;
    f.lanes = p->in_c < NNCC_HELIUM_BYTES ? p->in_c : NNCC_HELIUM_BYTES;
    f.act_min = p->act_min;
    f.act_max = p->act_max;
    memset(f.lo, (int)(uint8_t)p->act_min, sizeof f.lo);
    memset(f.hi, (int)(uint8_t)(p->act_max - (NNCC_3X3_RELU ? p->zero : 0)), sizeof f.hi);
    int32_t tail = f.lanes < NNCC_HELIUM_BYTES && NNCC_DW_STRIDE * (b.end - 1) - p->pad_left + 3 == p->in_w ? 1 : 0;
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            b.packed = packed;
            nncc_dw_line(p, &b, &f, x, oy * p->stride_h - p->pad_top, n + 1 == p->batch ? tail : 0, y);
            y += p->out_w * p->in_c;
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
