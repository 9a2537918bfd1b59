/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_matmul_1row.h: walks over records and rows for the kernels nncc_helium_matmul_*: an including file
 * defines nncc_dot_pairs, which computes pairs of rows with the 4 channels of one record.
 */
#ifndef NNCC_HELIUM_MATMUL_1ROW_H
#define NNCC_HELIUM_MATMUL_1ROW_H

#include "nncc_helium_record.h"

/* The kernel of rows that go one by one. */
#if NNCC_RECORD_W4
#define NNCC_DOT_1ROW nncc_helium_matmul_1row_w4_s8
#else
#define NNCC_DOT_1ROW nncc_helium_matmul_1row_s8
#endif

/* What pairs of rows share; the assembly has the offsets. */
typedef struct
{
    int32_t pitch;     /* 0 */
    int32_t zero;      /* 4 */
    int32_t act_min;   /* 8 */
    int32_t act_max;   /* 12 */
    int32_t step2;     /* 16: bytes from a pair of rows to the next */
    const int8_t *end; /* 20: NNCC_ROW_BIAS bytes behind the first row that is not computed */
    int32_t vectors;
    int32_t step;
    int32_t pairs;
} nncc_dot_frame;

#if NNCC_HELIUM_ASM

/* Lanes 0 to 3 of q0 and q1 from the accumulators of row 0 and row 1. */
#define NNCC_DOT_LANES \
    "vmov q0[2],q0[0],r0,r4\nvmov q0[3],q0[1],r2,r6\nvmov q1[2],q1[0],r8,r12\nvmov q1[3],q1[1],r10,lr\n"
#if NNCC_RECORD_W4
/* Accumulators of even channels are 16 times their sums, those of odd ones have the even sum added. */
#define NNCC_DOT_COLLECT \
    "sub r2,r2,r0,asr #4\nsub r6,r6,r4,asr #4\nsub r10,r10,r8,asr #4\nsub lr,lr,r12,asr #4\n" NNCC_DOT_LANES \
    "vshr.s32 q0,q0,#4\nvshr.s32 q1,q1,#4\n"
/* The vectors q0 and q1 of both rows with the weights of two channels at `load`. */
#define NNCC_DOT_TWO(op, load, even0, odd0, even1, odd1) \
    "vldrw.32 q2," load "\n" op " " odd0 ",q2,q0\n" op " " odd1 ",q2,q1\n" \
    "vshl.i8 q2,q2,#4\n" op " " even0 ",q2,q0\n" op " " even1 ",q2,q1\n"
#else
#define NNCC_DOT_COLLECT NNCC_DOT_LANES
/* The same with those of a channel. */
#define NNCC_DOT_ONE(op, load, sum0, sum1) "vldrw.32 q2," load "\n" op " " sum0 ",q2,q0\n" op " " sum1 ",q2,q1\n"
#endif
/* Bias in q5, multipliers in q6, shifts in q7, clamp in q3 and q4, zero point in r2, t free: accumulators to output
 * values. */
/* clang-format off */
#define NNCC_DOT_REQUANTISE(q, round, t) \
    "vqrdmulh.s32 " #q "," #q ",q6\n" \
    round(q, t) \
    "vrshl.s32 " #q "," #q ",q7\nvadd.i32 " #q "," #q ",r2\n" \
    "vmax.s32 " #q "," #q ",q3\nvmin.s32 " #q "," #q ",q4\n"
/* clang-format on */
/* The clamp into q3 and q4, from where p or a frame has it. */
#define NNCC_DOT_CLAMP "ldrd r0,r2,[%[f],#8]\nvdup.32 q3,r0\nvdup.32 q4,r2\n"
#define NNCC_DOT_ACCUMULATORS \
    "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7"

static void nncc_dot_pairs(const nncc_dot_frame *f, const int8_t *x, const int8_t *record, int8_t *y);

#elif NNCC_HELIUM_MVE

/* The sums of row 0 (a) and of row 1 (b), a vector of each and one of weights. */
#define NNCC_DOT_SUMS int32_t a0, a1, a2, a3, b0, b1, b2, b3
#define NNCC_DOT_BEGIN(sum, q, x) vmladavq_s8(q, x)
#define NNCC_DOT_BOTH(op, a, b) a = op(a, q, u), b = op(b, q, v)
/* Vectors at x0 and x1 with the weights of 4 channels at w. */
#if NNCC_RECORD_W4
#define NNCC_DOT_VECTOR(op, w, x0, x1) \
    do { \
        int8x16_t q = nncc_weights(w); \
        const int8x16_t u = vldrbq_s8(x0), v = vldrbq_s8(x1); \
\
        NNCC_DOT_BOTH(op, a1, b1); \
        q = vshlq_n_s8(q, 4); \
        NNCC_DOT_BOTH(op, a0, b0); \
        q = nncc_weights((w) + 16); \
        NNCC_DOT_BOTH(op, a3, b3); \
        q = vshlq_n_s8(q, 4); \
        NNCC_DOT_BOTH(op, a2, b2); \
    } while (0)
/* Accumulators of even channels are 16 times their sums, those of odd ones have the even sum added. */
#define NNCC_DOT_COLLECT(a, b, c, d) vshrq_n_s32(nncc_four(a, (b) - ((a) >> 4), c, (d) - ((c) >> 4)), 4)
#else
#define NNCC_DOT_VECTOR(op, w, x0, x1) \
    do { \
        int8x16_t q = nncc_weights(w); \
        const int8x16_t u = vldrbq_s8(x0), v = vldrbq_s8(x1); \
\
        NNCC_DOT_BOTH(op, a0, b0); \
        q = nncc_weights((w) + 16); \
        NNCC_DOT_BOTH(op, a1, b1); \
        q = nncc_weights((w) + 32); \
        NNCC_DOT_BOTH(op, a2, b2); \
        q = nncc_weights((w) + 48); \
        NNCC_DOT_BOTH(op, a3, b3); \
    } while (0)
#define NNCC_DOT_COLLECT(a, b, c, d) nncc_four(a, b, c, d)
#endif

/* The head of a record, and the clamp. */
#define NNCC_DOT_HEAD(record) \
    const int32x4_t bias = nncc_words(record), mult = nncc_words((record) + 16), shift = nncc_words((record) + 32); \
    const int32x4_t lo = vdupq_n_s32(f->act_min), hi = vdupq_n_s32(f->act_max)
/* Four sums as output values. */
#define NNCC_DOT_REQUANTISE(v, round, zero) \
    do { \
        v = vqrdmulhq_s32(vaddq_s32(v, bias), mult); \
        v = vrshlq_s32(round(v), shift); \
        v = vminq_s32(vmaxq_s32(vaddq_n_s32(v, zero), lo), hi); \
    } while (0)
/* The sums r and s of both rows to y and the row after it; y is then at the next pair. */
#define NNCC_DOT_PUT(round, r, s) \
    do { \
        NNCC_DOT_REQUANTISE(r, round, zero); \
        NNCC_DOT_REQUANTISE(s, round, zero); \
        vstrbq_s32(y, r); \
        y += pitch; \
        vstrbq_s32(y, s); \
        y += pitch; \
    } while (0)
#define NNCC_DOT_STORE(round) \
    do { \
        const int32_t zero = live->zero, pitch = live->pitch; \
        int32x4_t r = NNCC_DOT_COLLECT(a0, a1, a2, a3), s = NNCC_DOT_COLLECT(b0, b1, b2, b3); \
\
        NNCC_DOT_PUT(round, r, s); \
    } while (0)

static void nncc_dot_pairs(const nncc_dot_frame *f, const int8_t *x, const int8_t *record, int8_t *y);

#else

/* The portable body. Bytes behind a row meet weights of zero; the last rows are not computed here. */
static void nncc_dot_pairs(const nncc_dot_frame *f, const int8_t *x, const int8_t *record, int8_t *y)
{
    nncc_helium_matmul_params p;
    int32_t r;

    p.pitch = f->pitch;
    p.zero = f->zero;
    p.act_min = f->act_min;
    p.act_max = f->act_max;
    for (r = 0; r < 2 * f->pairs; r++) {
        nncc_record_row(&p, x + r * f->step, NNCC_HELIUM_BYTES * f->vectors, record, y + r * f->pitch);
    }
}

#endif

/*
 * All records over all rows. Rows behind whose end a whole last vector would leave the input, an odd row, and
 * everything where there are fewer than 4 channels, go one by one.
 */
static inline void nncc_dot_rows(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                                 int32_t rows)
{
    int32_t record = nncc_record_bytes(p->vectors);
    const int8_t *at = packed;
    nncc_dot_frame f;
    int32_t c;

    f.pitch = p->pitch;
    f.zero = p->zero;
    f.act_min = p->act_min;
    f.act_max = p->act_max;
    f.step = p->step;
    f.step2 = 2 * p->step;
    f.vectors = p->vectors;
    f.pairs = p->channels < 4 || rows <= p->single ? 0 : (rows - p->single) / 2;
    f.end = x + f.pairs * f.step2 + NNCC_ROW_BIAS;
    if (f.pairs > 0) {
        for (c = 0; c < p->channels; c += 4) {
            nncc_dot_pairs(&f, x, at, y + (c + 4 <= p->channels ? c : p->channels - 4));
            at += record;
        }
    }
    if (rows > 2 * f.pairs) {
        NNCC_DOT_1ROW(p, x + f.pairs * f.step2, packed, y + 2 * f.pairs * p->pitch, rows - 2 * f.pairs);
    }
}

#endif /* NNCC_HELIUM_MATMUL_1ROW_H */
