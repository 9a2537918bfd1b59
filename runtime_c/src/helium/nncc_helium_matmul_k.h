/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_matmul_k.h: the body of nncc_helium_matmul_k<n>*_s8: 2 rows x 4 channels, a row of n vectors unrolled. An
 * including file defines NNCC_DOT_VECTORS (1 to 9), NNCC_DOT_ROUND (NNCC_ROUND_ALL or, for act_min >= zero,
 * NNCC_ROUND_RELU) and NNCC_RECORD_W4.
 */
#ifndef NNCC_HELIUM_MATMUL_K_H
#define NNCC_HELIUM_MATMUL_K_H

#include "nncc_helium_matmul_1row.h"

#if NNCC_HELIUM_ASM

/* The record pointer is biased, so that all of a record is in reach of immediate offsets (multiples of 4 up to 508). */
#define NNCC_DOT_BIAS 128

/* Vector k of both rows (q0, q1) with the weights of 4 channels. */
#if NNCC_RECORD_W4
#define NNCC_DOT_MACS(op, k) \
    NNCC_DOT_TWO(op, "[%[w],#32*" #k "-80]", "r0", "r2", "r8", "r10") \
    NNCC_DOT_TWO(op, "[%[w],#32*" #k "-64]", "r4", "r6", "r12", "lr")
#else
#define NNCC_DOT_MACS(op, k) \
    "vldrw.32 q2,[%[w],#64*" #k "-80]\n" op " r0,q2,q0\n" op " r8,q2,q1\n" \
    "vldrw.32 q2,[%[w],#64*" #k "-64]\n" op " r2,q2,q0\n" op " r10,q2,q1\n" \
    "vldrw.32 q2,[%[w],#64*" #k "-48]\n" op " r4,q2,q0\n" op " r12,q2,q1\n" \
    "vldrw.32 q2,[%[w],#64*" #k "-32]\n" op " r6,q2,q0\n" op " lr,q2,q1\n"
#endif
#define NNCC_DOT_AT(op, k) "vldrb.8 q0,[%[x0],#16*" #k "-64]\nvldrb.8 q1,[%[x1],#16*" #k "-64]\n" NNCC_DOT_MACS(op, k)
#define NNCC_DOT_FIRST NNCC_DOT_AT("vmladav.s8", 0)
#define NNCC_DOT_NEXT(k) NNCC_DOT_AT("vmladava.s8", k)

#define NNCC_DOT_UP2 NNCC_DOT_FIRST NNCC_DOT_NEXT(1)
#define NNCC_DOT_UP3 NNCC_DOT_UP2 NNCC_DOT_NEXT(2)
#define NNCC_DOT_UP4 NNCC_DOT_UP3 NNCC_DOT_NEXT(3)
#define NNCC_DOT_UP5 NNCC_DOT_UP4 NNCC_DOT_NEXT(4)
#define NNCC_DOT_UP6 NNCC_DOT_UP5 NNCC_DOT_NEXT(5)
#define NNCC_DOT_UP7 NNCC_DOT_UP6 NNCC_DOT_NEXT(6)
#define NNCC_DOT_UP8 NNCC_DOT_UP7 NNCC_DOT_NEXT(7)

#if NNCC_DOT_VECTORS == 1
#define NNCC_DOT_ROW NNCC_DOT_FIRST
#elif NNCC_DOT_VECTORS == 2
#define NNCC_DOT_ROW NNCC_DOT_UP2
#elif NNCC_DOT_VECTORS == 3
#define NNCC_DOT_ROW NNCC_DOT_UP3
#elif NNCC_DOT_VECTORS == 4
#define NNCC_DOT_ROW NNCC_DOT_UP4
#elif NNCC_DOT_VECTORS == 5
#define NNCC_DOT_ROW NNCC_DOT_UP5
#elif NNCC_DOT_VECTORS == 6
#define NNCC_DOT_ROW NNCC_DOT_UP6
#elif NNCC_DOT_VECTORS == 7
#define NNCC_DOT_ROW NNCC_DOT_UP7
#elif NNCC_DOT_VECTORS == 8
#define NNCC_DOT_ROW NNCC_DOT_UP8
#else
#define NNCC_DOT_ROW NNCC_DOT_UP8 NNCC_DOT_NEXT(8)
#endif

static void nncc_dot_pairs(const nncc_dot_frame *f, const int8_t *x, const int8_t *record, int8_t *y)
{
    NNCC_REG(const int8_t *, x0, "r1", x + 64); /* so that 9 vectors are in reach */
    NNCC_REG(const int8_t *, w, "r3", record + NNCC_DOT_BIAS);
    NNCC_REG(int8_t *, to, "r5", y);
    NNCC_REG(const int8_t *, x1, "r9", x + 64 + f->step);
    NNCC_REG(const nncc_dot_frame *, frame, "r11", f);

    /* clang-format off */
    __asm volatile("vldrw.32 q5,[%[w],#-128]\n"
                   "vldrw.32 q6,[%[w],#-112]\n"
                   "vldrw.32 q7,[%[w],#-96]\n"
                   NNCC_DOT_CLAMP
                   "1:\n"
                   NNCC_DOT_ROW
                   NNCC_DOT_COLLECT
                   "ldrd r0,r2,[%[f]]\n"
                   "ldrd r4,r6,[%[f],#16]\n"
                   "vadd.i32 q0,q0,q5\n"
                   "vadd.i32 q1,q1,q5\n"
                   NNCC_DOT_REQUANTISE(q0, NNCC_DOT_ROUND, q2) NNCC_DOT_REQUANTISE(q1, NNCC_DOT_ROUND, q2)
                   "vstrb.32 q0,[%[y]]\n"
                   "add %[y],%[y],r0\n"
                   "vstrb.32 q1,[%[y]]\n"
                   "add %[y],%[y],r0\n"
                   "add %[x0],%[x0],r4\n"
                   "add %[x1],%[x1],r4\n"
                   "cmp %[x0],r6\n"
                   "bne 1b\n"
                   : [x0] "+r"(x0), [x1] "+r"(x1), [y] "+r"(to)
                   : [w] "r"(w), [f] "r"(frame)
                   : NNCC_DOT_ACCUMULATORS, "cc", "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

/* The record pointer is biased, so that all of a record is in reach of immediate offsets, and none is 0: GCC would move
 * the pointer there. */
#define NNCC_DOT_BIAS 132
#define NNCC_DOT_AT(op, k) \
    NNCC_DOT_VECTOR(op, w + NNCC_RECORD_VECTOR * (k) + NNCC_RECORD_HEAD - NNCC_DOT_BIAS, x0 + 16 * (k)-NNCC_ROW_BIAS, \
                    x1 + 16 * (k)-NNCC_ROW_BIAS)

/* Rows of up to two vectors stay in registers: sums of a channel go into their lanes before there are others. */
#define NNCC_DOT_SHORT (NNCC_DOT_VECTORS <= 2 && !NNCC_RECORD_W4)
#if NNCC_DOT_SHORT
#define NNCC_DOT_W(k, c) nncc_weights(w + NNCC_RECORD_HEAD - NNCC_DOT_BIAS + NNCC_RECORD_VECTOR * (k) + 16 * (c))
#define NNCC_DOT_X(x, k) vldrbq_s8((x)-NNCC_ROW_BIAS + 16 * (k))
#if NNCC_DOT_VECTORS == 1
#define NNCC_DOT_CHANNEL(put, c) \
    do { \
        const int8x16_t q = NNCC_DOT_W(0, c); \
\
        put(r, vmladavq_s8(q, u), c); \
        put(s, vmladavq_s8(q, v), c); \
    } while (0)
#else
#define NNCC_DOT_CHANNEL(put, c) \
    do { \
        int8x16_t q = NNCC_DOT_W(0, c); \
        int32_t a = vmladavq_s8(q, u), b = vmladavq_s8(q, v); \
\
        q = NNCC_DOT_W(1, c); \
        put(r, vmladavaq_s8(a, q, u1), c); \
        put(s, vmladavaq_s8(b, q, v1), c); \
    } while (0)
#endif
#define NNCC_DOT_ALL(v, sum, c) v = vdupq_n_s32(sum)
#define NNCC_DOT_LANE(v, sum, c) v = vsetq_lane_s32(sum, v, c)
#if NNCC_DOT_VECTORS == 1
#define NNCC_DOT_ROWS const int8x16_t u = NNCC_DOT_X(x0, 0), v = NNCC_DOT_X(x1, 0)
#else
#define NNCC_DOT_ROWS \
    const int8x16_t u = NNCC_DOT_X(x0, 0), v = NNCC_DOT_X(x1, 0), u1 = NNCC_DOT_X(x0, 1), v1 = NNCC_DOT_X(x1, 1)
#endif
#define NNCC_DOT_CHANNELS \
    do { \
        NNCC_DOT_ROWS; \
        int32x4_t r, s; \
\
        NNCC_DOT_CHANNEL(NNCC_DOT_ALL, 0); \
        NNCC_DOT_CHANNEL(NNCC_DOT_LANE, 1); \
        NNCC_DOT_CHANNEL(NNCC_DOT_LANE, 2); \
        NNCC_DOT_CHANNEL(NNCC_DOT_LANE, 3); \
        { \
            const int32_t zero = live->zero, pitch = live->pitch; \
\
            NNCC_DOT_PUT(NNCC_DOT_ROUND, r, s); \
        } \
    } while (0)
#endif

/* What is volatile is loaded where it is used: sums fill the registers, and compilers would store those instead. */
NNCC_MVE_IN_ORDER static void nncc_dot_pairs(const nncc_dot_frame *f, const int8_t *x, const int8_t *record, int8_t *y)
{
    const volatile nncc_dot_frame *const live = f;
    const int8_t *volatile const weights = record + NNCC_DOT_BIAS;
    const int8_t *x0 = x + NNCC_ROW_BIAS, *x1 = x0 + f->step;
    int32_t step;
    NNCC_DOT_HEAD(record);

    do {
        const int8_t *const w = weights;
#if NNCC_DOT_SHORT
        NNCC_DOT_CHANNELS;
#else
        NNCC_DOT_SUMS;

        NNCC_DOT_AT(NNCC_DOT_BEGIN, 0);
#if NNCC_DOT_VECTORS > 1
        NNCC_DOT_AT(vmladavaq_s8, 1);
#endif
#if NNCC_DOT_VECTORS > 2
        NNCC_DOT_AT(vmladavaq_s8, 2);
#endif
#if NNCC_DOT_VECTORS > 3
        NNCC_DOT_AT(vmladavaq_s8, 3);
#endif
#if NNCC_DOT_VECTORS > 4
        NNCC_DOT_AT(vmladavaq_s8, 4);
#endif
#if NNCC_DOT_VECTORS > 5
        NNCC_DOT_AT(vmladavaq_s8, 5);
#endif
#if NNCC_DOT_VECTORS > 6
        NNCC_DOT_AT(vmladavaq_s8, 6);
#endif
#if NNCC_DOT_VECTORS > 7
        NNCC_DOT_AT(vmladavaq_s8, 7);
#endif
#if NNCC_DOT_VECTORS > 8
        NNCC_DOT_AT(vmladavaq_s8, 8);
#endif
        NNCC_DOT_STORE(NNCC_DOT_ROUND);
#endif
        step = live->step2;
        x0 += step;
        x1 += step;
    } while (x0 != live->end);
}

#endif

#endif /* NNCC_HELIUM_MATMUL_K_H */
