/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_matmul_upper.h: the body of nncc_helium_matmul_k<n>_upper*_s8: 2 rows x 4 channels, a row of n vectors
 * unrolled, results in the upper halves of words. An including file defines NNCC_DOT_VECTORS (1 to 9) and
 * NNCC_UPPER_RELU, 1 where the output's zero point is -128.
 */
#ifndef NNCC_HELIUM_MATMUL_UPPER_H
#define NNCC_HELIUM_MATMUL_UPPER_H

#include "nncc_helium_upper.h"

#define NNCC_UPPER_DEPTH (NNCC_HELIUM_BYTES * NNCC_DOT_VECTORS)
#define NNCC_UPPER_RECORD (NNCC_UPPER_HEAD + 4 * NNCC_UPPER_DEPTH)

/* What pairs of rows share; the assembly loads all of it at once. */
typedef struct
{
    int32_t scale; /* what sums are multiplied by */
    int32_t offset;
    int32_t pitch;
    int32_t step2;     /* bytes from a pair of rows to the next */
    const int8_t *end; /* NNCC_ROW_BIAS bytes behind the first row that is not computed */
} nncc_upper_frame;

#if NNCC_HELIUM_ASM

/*
 * Loads alternate with products where they can: either occupies its pipe for two cycles. Vectors of the rows are in q0
 * and q1, weights in q2 and q6; q5 has the multipliers. Some of the first weights stay in registers.
 */
#define NNCC_UPPER_W0(k) "vldrw.32 q2,[%[w],%[first]+64*(" #k ")]\n"
#define NNCC_UPPER_X0(k) "vldrb.8 q0,[%[x0],#16*(" #k ")-64]\n"
#define NNCC_UPPER_X1(k) "vldrb.8 q1,[%[x1],#16*(" #k ")-64]\n"
#define NNCC_UPPER_WEIGHTS(q, k, c) "vldrw.32 " q ",[%[w],%[first]+64*(" #k ")+16*" #c "]\n"
/* Products of vector k, whose first weights and inputs are there; what follows loads the next ones. */
#define NNCC_UPPER_STEP(k, w0, x0, x1) \
    "vmladava.s8 r0,q2,q0\n" NNCC_UPPER_WEIGHTS("q6", k, 1) "vmladava.s8 r8,q2,q1\n" NNCC_UPPER_WEIGHTS( \
        "q2", k, \
        2) "vmladava.s8 r2,q6,q0\nvmladava.s8 r10,q6,q1\n" NNCC_UPPER_WEIGHTS("q6", k, \
                                                                              3) "vmladava.s8 r4,q2,q0\nvmladava.s8 " \
                                                                                 "r12,q2,q1\n" w0 \
                                                                                 "vmladava.s8 r6,q6,q0\n" x0 \
                                                                                 "vmladava.s8 lr,q6,q1\n" x1
#define NNCC_UPPER_NEXT(k) NNCC_UPPER_STEP(k, NNCC_UPPER_W0(k + 1), NNCC_UPPER_X0(k + 1), NNCC_UPPER_X1(k + 1))
#define NNCC_UPPER_LAST(k) NNCC_UPPER_STEP(k, "", "", "")

#if NNCC_UPPER_RELU
#define NNCC_UPPER_KEEP NNCC_UPPER_WEIGHTS("q3", 0, 1) NNCC_UPPER_WEIGHTS("q4", 0, 2) NNCC_UPPER_WEIGHTS("q7", 0, 3)
#define NNCC_UPPER_W3 "q7"
#define NNCC_UPPER_LOAD3 ""
#else
#define NNCC_UPPER_KEEP NNCC_UPPER_WEIGHTS("q3", 0, 1) NNCC_UPPER_WEIGHTS("q4", 0, 2) "vldrw.32 q7,[%[w],#-96]\n"
#define NNCC_UPPER_W3 "q6"
#define NNCC_UPPER_LOAD3 NNCC_UPPER_WEIGHTS("q6", 0, 3)
#endif
/* The first weights of a row: they stay where there is room, or the end of a turn loads them for the next one. */
#if NNCC_UPPER_RELU && NNCC_DOT_VECTORS == 1
#define NNCC_UPPER_AGAIN ""
#define NNCC_UPPER_ONCE NNCC_UPPER_WEIGHTS("q6", 0, 0)
#define NNCC_UPPER_START "q6"
#else
#define NNCC_UPPER_AGAIN NNCC_UPPER_W0(0)
#define NNCC_UPPER_ONCE NNCC_UPPER_AGAIN
#define NNCC_UPPER_START "q2"
#endif
#define NNCC_UPPER_BEGIN(w0, x0, x1) \
    NNCC_UPPER_X0(0) \
    "vmladav.s8 r2,q3,q0\n" NNCC_UPPER_X1(0) "vmladav.s8 r0," NNCC_UPPER_START ",q0\n" NNCC_UPPER_LOAD3 \
                                             "vmladav.s8 r8," NNCC_UPPER_START ",q1\n" w0 "vmladav.s8 r10,q3,q1\n" \
                                             "vmladav.s8 r4,q4,q0\nvmladav.s8 r12,q4,q1\nvmladav.s8 r6," NNCC_UPPER_W3 \
                                             ",q0\n" x0 "vmladav.s8 lr," NNCC_UPPER_W3 ",q1\n" x1

#define NNCC_UPPER_FIRST NNCC_UPPER_BEGIN(NNCC_UPPER_W0(1), NNCC_UPPER_X0(1), NNCC_UPPER_X1(1))
#define NNCC_UPPER_UP2 NNCC_UPPER_FIRST
#define NNCC_UPPER_UP3 NNCC_UPPER_UP2 NNCC_UPPER_NEXT(1)
#define NNCC_UPPER_UP4 NNCC_UPPER_UP3 NNCC_UPPER_NEXT(2)
#define NNCC_UPPER_UP5 NNCC_UPPER_UP4 NNCC_UPPER_NEXT(3)
#define NNCC_UPPER_UP6 NNCC_UPPER_UP5 NNCC_UPPER_NEXT(4)
#define NNCC_UPPER_UP7 NNCC_UPPER_UP6 NNCC_UPPER_NEXT(5)
#define NNCC_UPPER_UP8 NNCC_UPPER_UP7 NNCC_UPPER_NEXT(6)
#define NNCC_UPPER_UP9 NNCC_UPPER_UP8 NNCC_UPPER_NEXT(7)

#if NNCC_DOT_VECTORS == 1
#define NNCC_UPPER_ROW NNCC_UPPER_BEGIN("", "", "")
#elif NNCC_DOT_VECTORS == 2
#define NNCC_UPPER_ROW NNCC_UPPER_UP2 NNCC_UPPER_LAST(1)
#elif NNCC_DOT_VECTORS == 3
#define NNCC_UPPER_ROW NNCC_UPPER_UP3 NNCC_UPPER_LAST(2)
#elif NNCC_DOT_VECTORS == 4
#define NNCC_UPPER_ROW NNCC_UPPER_UP4 NNCC_UPPER_LAST(3)
#elif NNCC_DOT_VECTORS == 5
#define NNCC_UPPER_ROW NNCC_UPPER_UP5 NNCC_UPPER_LAST(4)
#elif NNCC_DOT_VECTORS == 6
#define NNCC_UPPER_ROW NNCC_UPPER_UP6 NNCC_UPPER_LAST(5)
#elif NNCC_DOT_VECTORS == 7
#define NNCC_UPPER_ROW NNCC_UPPER_UP7 NNCC_UPPER_LAST(6)
#elif NNCC_DOT_VECTORS == 8
#define NNCC_UPPER_ROW NNCC_UPPER_UP8 NNCC_UPPER_LAST(7)
#else
#define NNCC_UPPER_ROW NNCC_UPPER_UP9 NNCC_UPPER_LAST(8)
#endif

static void nncc_upper_pairs(const nncc_upper_frame *f, const int8_t *x, int32_t step, const int8_t *record, int8_t *y)
{
    NNCC_REG(const int8_t *, x0, "r1", x + 64);      /* so that 9 vectors are in reach */
    NNCC_REG(const int8_t *, w, "r3", record + 128); /* so that all of a record is (multiples of 4 up to 508) */
    NNCC_REG(int8_t *, to, "r5", y);
    NNCC_REG(const int8_t *, x1, "r9", x + 64 + step);
    NNCC_REG(const nncc_upper_frame *, frame, "r11", f);

    /* clang-format off */
    __asm volatile("vldrw.32 q5,[%[w],#-112]\n"
                   NNCC_UPPER_KEEP
                   NNCC_UPPER_ONCE
                   "1:\n"
                   NNCC_UPPER_ROW
                   NNCC_UPPER_LANES
                   "ldm %[f],{r0,r2,r4,r6,r8}\n"
                   NNCC_UPPER_RESULTS("[%[w],#-128]", "add %[x0],%[x0],r6\n", "add %[x1],%[x1],r6\n",
                                      NNCC_UPPER_AGAIN, "cmp %[x0],r8\n")
                   "vstrb.32 q0,[%[y]]\n"
                   "add %[y],%[y],r4\n"
                   "vstrb.32 q1,[%[y]]\n"
                   "add %[y],%[y],r4\n"
                   "bne 1b\n"
                   : [x0] "+r"(x0), [x1] "+r"(x1), [y] "+r"(to)
                   : [w] "r"(w), [f] "r"(frame), [first] "i"(NNCC_UPPER_HEAD - 128)
                   : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6",
                     "q7", "cc", "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

/* Vector k of both rows with the weights of 4 channels, a record of which begins 132 bytes before w: no offset is 0,
 * where GCC would move the pointer. */
#define NNCC_UPPER_STEP(op, k) \
    do { \
        const int8_t *const at = w + (NNCC_UPPER_HEAD - 132) + 64 * (k); \
        const int8x16_t u = vldrbq_s8(x0 + 16 * (k)-NNCC_ROW_BIAS), v = vldrbq_s8(x1 + 16 * (k)-NNCC_ROW_BIAS); \
        int8x16_t q = nncc_weights(at); \
\
        a0 = op(a0, q, u), b0 = op(b0, q, v); \
        q = nncc_weights(at + 16); \
        a1 = op(a1, q, u), b1 = op(b1, q, v); \
        q = nncc_weights(at + 32); \
        a2 = op(a2, q, u), b2 = op(b2, q, v); \
        q = nncc_weights(at + 48); \
        a3 = op(a3, q, u), b3 = op(b3, q, v); \
    } while (0)
#define NNCC_UPPER_FIRST(sum, q, x) vmladavq_s8(q, x)

#if NNCC_DOT_VECTORS <= 2

/* Channel k of rows that fit into registers: its sums go into their vectors before there are others. Weights of one
 * vector stay in registers, too. */
#if NNCC_DOT_VECTORS == 1
#define NNCC_UPPER_CHANNEL(put, k) \
    do { \
        put(r, vmladavq_s8(w##k, u), k); \
        put(s, vmladavq_s8(w##k, v), k); \
    } while (0)
#else
#define NNCC_UPPER_CHANNEL(put, k) \
    do { \
        const int8_t *const at = w + (NNCC_UPPER_HEAD - 132) + 16 * (k); \
        int8x16_t q = nncc_weights(at); \
        int32_t a = vmladavq_s8(q, u), b = vmladavq_s8(q, v); \
\
        q = nncc_weights(at + 64); \
        put(r, vmladavaq_s8(a, q, u1), k); \
        put(s, vmladavaq_s8(b, q, v1), k); \
    } while (0)
#endif
#define NNCC_UPPER_ALL(v, sum, k) v = vdupq_n_s32(sum)
#define NNCC_UPPER_LANE(v, sum, k) v = vsetq_lane_s32(sum, v, k)

/* What pairs share stays in registers, but for the weights' pointer: with that, GCC would keep every offset's sum. With
 * two vectors Clang runs out of registers. */
#if defined(__clang__) && NNCC_DOT_VECTORS > 1
#define NNCC_UPPER_SHARED volatile
#else
#define NNCC_UPPER_SHARED
#endif
NNCC_MVE_IN_ORDER static void nncc_upper_pairs(const nncc_upper_frame *f, const int8_t *x, int32_t step,
                                               const int8_t *record, int8_t *y)
{
    const NNCC_UPPER_SHARED int32_t scale = f->scale, offset = f->offset, pitch = f->pitch, next = f->step2;
    const int8_t *const NNCC_UPPER_SHARED end = f->end;
    const int8_t *volatile const weights = record + 132;
    const int8_t *x0 = x + NNCC_ROW_BIAS, *x1 = x0 + step;
#if NNCC_DOT_VECTORS == 1
    const int8x16_t w0 = nncc_weights(record + NNCC_UPPER_HEAD), w1 = nncc_weights(record + NNCC_UPPER_HEAD + 16);
    const int8x16_t w2 = nncc_weights(record + NNCC_UPPER_HEAD + 32), w3 = nncc_weights(record + NNCC_UPPER_HEAD + 48);
#endif

    do {
        const int8_t *const w = weights;
        const int8x16_t u = vldrbq_s8(x0 - NNCC_ROW_BIAS), v = vldrbq_s8(x1 - NNCC_ROW_BIAS);
#if NNCC_DOT_VECTORS > 1
        const int8x16_t u1 = vldrbq_s8(x0 + 16 - NNCC_ROW_BIAS), v1 = vldrbq_s8(x1 + 16 - NNCC_ROW_BIAS);
#endif
        int32x4_t r, s;
        int32_t by;

        NNCC_UPPER_CHANNEL(NNCC_UPPER_ALL, 0);
        NNCC_UPPER_CHANNEL(NNCC_UPPER_LANE, 1);
        NNCC_UPPER_CHANNEL(NNCC_UPPER_LANE, 2);
        NNCC_UPPER_CHANNEL(NNCC_UPPER_LANE, 3);
        s = NNCC_UPPER_ROWS(w - 132, r, s);
        by = pitch;
        vstrbq_s32(y, s);
        y += by;
        vstrbq_s32(y, vshrq_n_s32(s, 16));
        y += by;
        by = next;
        x0 += by;
        x1 += by;
    } while (x0 != end);
}

#else

/* What is volatile is loaded where it is used: sums fill the registers, and compilers would store those instead. */
NNCC_MVE_IN_ORDER static void nncc_upper_pairs(const nncc_upper_frame *f, const int8_t *x, int32_t step,
                                               const int8_t *record, int8_t *y)
{
    const volatile nncc_upper_frame *const live = f;
    const int8_t *volatile const weights = record + 132;
    const int8_t *x0 = x + NNCC_ROW_BIAS, *x1 = x0 + step;
    int32_t next;

    do {
        const int8_t *const w = weights;
        int32_t a0, a1, a2, a3, b0, b1, b2, b3;
        int32x4_t r, s;

        NNCC_UPPER_STEP(NNCC_UPPER_FIRST, 0);
        NNCC_UPPER_STEP(vmladavaq_s8, 1);
        NNCC_UPPER_STEP(vmladavaq_s8, 2);
#if NNCC_DOT_VECTORS > 3
        NNCC_UPPER_STEP(vmladavaq_s8, 3);
#endif
#if NNCC_DOT_VECTORS > 4
        NNCC_UPPER_STEP(vmladavaq_s8, 4);
#endif
#if NNCC_DOT_VECTORS > 5
        NNCC_UPPER_STEP(vmladavaq_s8, 5);
#endif
#if NNCC_DOT_VECTORS > 6
        NNCC_UPPER_STEP(vmladavaq_s8, 6);
#endif
#if NNCC_DOT_VECTORS > 7
        NNCC_UPPER_STEP(vmladavaq_s8, 7);
#endif
#if NNCC_DOT_VECTORS > 8
        NNCC_UPPER_STEP(vmladavaq_s8, 8);
#endif
        r = nncc_four(a0, a1, a2, a3);
        s = nncc_four(b0, b1, b2, b3);
        {
            const int32_t scale = live->scale, offset = live->offset, pitch = live->pitch;

            s = NNCC_UPPER_ROWS(w - 132, r, s);
            vstrbq_s32(y, s);
            y += pitch;
            vstrbq_s32(y, vshrq_n_s32(s, 16));
            y += pitch;
        }
        next = live->step2;
        x0 += next;
        x1 += next;
    } while (x0 != live->end);
}

#endif

#else

static void nncc_upper_pairs(const nncc_upper_frame *f, const int8_t *x, int32_t step, const int8_t *record, int8_t *y)
{
    do {
        nncc_upper_row(x, NNCC_UPPER_DEPTH, record, y);
        y += f->pitch;
        nncc_upper_row(x + step, NNCC_UPPER_DEPTH, record, y);
        y += f->pitch;
        x += f->step2;
    } while (x + NNCC_ROW_BIAS != f->end);
}

#endif

/* All records over n pairs of rows, n at least 1. */
static inline void nncc_upper_records(const nncc_helium_matmul_params *p, nncc_upper_frame *f, const int8_t *x,
                                      int32_t step, const int8_t *packed, int8_t *y)
{
    int32_t c;

    for (c = 0; c < p->channels; c += 4) {
        memcpy(f, packed + NNCC_UPPER_SCALARS, 2 * sizeof(int32_t));
        nncc_upper_pairs(f, x, step, packed, y + (c + 4 <= p->channels ? c : p->channels - 4));
        packed += NNCC_UPPER_RECORD;
    }
}

/*
 * Rows by pairs. An odd row is its own neighbour; so are, copied, rows behind whose end a whole last vector would leave
 * the input.
 */
static inline void nncc_upper_rows(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                                   int32_t rows)
{
    const int32_t whole = rows > p->single ? rows - p->single : 0;
    int8_t last[NNCC_UPPER_DEPTH];
    nncc_upper_frame f;
    int32_t r;

    f.pitch = p->pitch;
    f.step2 = 2 * p->step;
    if (whole > 1) {
        f.end = x + whole / 2 * f.step2 + NNCC_ROW_BIAS;
        nncc_upper_records(p, &f, x, p->step, packed, y);
    }
    f.pitch = 0;
    f.step2 = NNCC_HELIUM_BYTES;
    for (r = whole & ~1; r < rows; r++) {
        const int8_t *row = x + r * p->step;

        if (r >= whole) {
            memset(last + NNCC_UPPER_DEPTH - NNCC_HELIUM_BYTES, 0, NNCC_HELIUM_BYTES);
            nncc_helium_copy(last, row, NNCC_UPPER_DEPTH - NNCC_HELIUM_BYTES + p->tail);
            row = last;
        }
        f.end = row + NNCC_HELIUM_BYTES + NNCC_ROW_BIAS;
        nncc_upper_records(p, &f, row, 0, packed, y + r * p->pitch);
    }
}

#endif /* NNCC_HELIUM_MATMUL_UPPER_H */
