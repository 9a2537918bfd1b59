/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_matmul_unroll.h: the body of nncc_helium_matmul_unroll<n>*_s8: 2 rows x 4 channels, a loop over n vectors
 * of a row at a time. An including file defines NNCC_DOT_BY (3 to 5) and NNCC_RECORD_W4; a row has at least twice as
 * many vectors.
 */
#ifndef NNCC_HELIUM_MATMUL_UNROLL_H
#define NNCC_HELIUM_MATMUL_UNROLL_H

#include "nncc_helium_matmul_1row.h"

#if NNCC_HELIUM_ASM

/* What does not fit into registers beside 8 accumulators; the assembly below has the offsets. */
typedef struct
{
    int32_t pitch;   /* 0 */
    int32_t zero;    /* 4 */
    int32_t act_min; /* 8 */
    int32_t act_max; /* 12 */
    int32_t more;    /* 16: turns of the loop after the first NNCC_DOT_BY vectors */
    int32_t weights; /* 20: bytes of the weights of a record */
    int32_t next;    /* 24: bytes from behind a row to the next but one */
    int8_t *y;       /* 28 */
    int32_t pairs;   /* 32 */
} nncc_dot_loop;

#if NNCC_RECORD_W4
#define NNCC_DOT_STEP(op) \
    "vldrb.8 q0,[%[x0]],#16\nvldrb.8 q1,[%[x1]],#16\n" NNCC_DOT_TWO(op, "[%[w]],#16", "r0", "r2", "r8", "r10") \
        NNCC_DOT_TWO(op, "[%[w]],#16", "r4", "r6", "r12", "lr")
#else
#define NNCC_DOT_STEP(op) \
    "vldrb.8 q0,[%[x0]],#16\nvldrb.8 q1,[%[x1]],#16\n" \
    "vldrw.32 q2,[%[w]],#16\n" op " r0,q2,q0\n" op " r8,q2,q1\n" \
    "vldrw.32 q2,[%[w]],#16\n" op " r2,q2,q0\n" op " r10,q2,q1\n" \
    "vldrw.32 q2,[%[w]],#16\n" op " r4,q2,q0\n" op " r12,q2,q1\n" \
    "vldrw.32 q2,[%[w]],#16\n" op " r6,q2,q0\n" op " lr,q2,q1\n"
#endif
#define NNCC_DOT_MORE NNCC_DOT_STEP("vmladava.s8")
#if NNCC_DOT_BY == 3
#define NNCC_DOT_REST NNCC_DOT_MORE NNCC_DOT_MORE
#elif NNCC_DOT_BY == 4
#define NNCC_DOT_REST NNCC_DOT_MORE NNCC_DOT_MORE NNCC_DOT_MORE
#else
#define NNCC_DOT_REST NNCC_DOT_MORE NNCC_DOT_MORE NNCC_DOT_MORE NNCC_DOT_MORE
#endif

static void nncc_dot_pairs(const nncc_dot_frame *f, const int8_t *x, const int8_t *record, int8_t *y)
{
    nncc_dot_loop loop;
    NNCC_REG(const int8_t *, x0, "r1", x);
    NNCC_REG(const int8_t *, w, "r3", record);
    NNCC_REG(const int8_t *, x1, "r5", x + f->step);
    NNCC_REG(int32_t, turns, "r9", 0);
    NNCC_REG(nncc_dot_loop *, frame, "r11", &loop);

    loop.pitch = f->pitch;
    loop.zero = f->zero;
    loop.act_min = f->act_min;
    loop.act_max = f->act_max;
    loop.more = f->vectors / NNCC_DOT_BY - 1;
    loop.weights = NNCC_RECORD_VECTOR * f->vectors;
    loop.next = f->step2 - NNCC_HELIUM_BYTES * f->vectors;
    loop.y = y;
    loop.pairs = f->pairs;
    /* clang-format off */
    __asm volatile("vldrw.32 q5,[%[w]],#16\n"
                   "vldrw.32 q6,[%[w]],#16\n"
                   "vldrw.32 q7,[%[w]],#16\n"
                   NNCC_DOT_CLAMP
                   "1:\n"
                   "ldr %[k],[%[f],#16]\n"
                   NNCC_DOT_STEP("vmladav.s8")
                   NNCC_DOT_REST
                   "2:\n"
                   NNCC_DOT_MORE
                   NNCC_DOT_REST
                   "subs %[k],%[k],#1\n"
                   "bne 2b\n"
                   NNCC_DOT_COLLECT
                   "ldrd r0,r2,[%[f]]\n"
                   "ldrd r8,r10,[%[f],#20]\n"
                   "ldrd r4,r6,[%[f],#28]\n"
                   "sub %[w],%[w],r8\n"
                   "add %[x0],%[x0],r10\n"
                   "add %[x1],%[x1],r10\n"
                   "vadd.i32 q0,q0,q5\n"
                   "vadd.i32 q1,q1,q5\n"
                   NNCC_DOT_REQUANTISE(q0, NNCC_ROUND_ALL, q2) NNCC_DOT_REQUANTISE(q1, NNCC_ROUND_ALL, q2)
                   "vstrb.32 q0,[r4]\n"
                   "add r4,r4,r0\n"
                   "vstrb.32 q1,[r4]\n"
                   "add r4,r4,r0\n"
                   "subs r6,r6,#1\n"
                   "strd r4,r6,[%[f],#28]\n"
                   "bne 1b\n"
                   : [x0] "+r"(x0), [x1] "+r"(x1), [w] "+r"(w), [k] "+r"(turns)
                   : [f] "r"(frame)
                   : NNCC_DOT_ACCUMULATORS, "cc", "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

#define NNCC_DOT_AT(op, k) NNCC_DOT_VECTOR(op, w + NNCC_RECORD_VECTOR * (k), x0 + 16 * (k), x1 + 16 * (k))
#if NNCC_DOT_BY == 3
#define NNCC_DOT_REST(op)
#elif NNCC_DOT_BY == 4
#define NNCC_DOT_REST(op) NNCC_DOT_AT(op, 3)
#else
#define NNCC_DOT_REST(op) \
    NNCC_DOT_AT(op, 3); \
    NNCC_DOT_AT(op, 4)
#endif
#define NNCC_DOT_NEXT \
    w += NNCC_DOT_BY * NNCC_RECORD_VECTOR; \
    x0 += 16 * NNCC_DOT_BY; \
    x1 += 16 * NNCC_DOT_BY

/* What is volatile is loaded where it is used: sums fill the registers, and compilers would store those instead. */
NNCC_MVE_IN_ORDER static void nncc_dot_pairs(const nncc_dot_frame *f, const int8_t *x, const int8_t *record, int8_t *y)
{
    const volatile nncc_dot_frame *const live = f;
    const int8_t *volatile const weights = record + NNCC_RECORD_HEAD;
    const int8_t *volatile const weights_end = weights + NNCC_RECORD_VECTOR * f->vectors;
    const int8_t *const end = f->end - NNCC_ROW_BIAS;
    const int32_t next = f->step2 - NNCC_HELIUM_BYTES * f->vectors;
    const int8_t *x0 = x, *x1 = x + f->step;
    NNCC_DOT_HEAD(record);

    do {
        const int8_t *w = weights;
        NNCC_DOT_SUMS;

        NNCC_DOT_AT(NNCC_DOT_BEGIN, 0);
        NNCC_DOT_AT(vmladavaq_s8, 1);
        NNCC_DOT_AT(vmladavaq_s8, 2);
        NNCC_DOT_REST(vmladavaq_s8);
        NNCC_DOT_NEXT;
        do {
            NNCC_DOT_AT(vmladavaq_s8, 0);
            NNCC_DOT_AT(vmladavaq_s8, 1);
            NNCC_DOT_AT(vmladavaq_s8, 2);
            NNCC_DOT_REST(vmladavaq_s8);
            NNCC_DOT_NEXT;
        } while (w != weights_end);
        NNCC_DOT_STORE(NNCC_ROUND_ALL);
        x0 += next;
        x1 += next;
    } while (x0 != end);
}

#endif

#endif /* NNCC_HELIUM_MATMUL_UNROLL_H */
