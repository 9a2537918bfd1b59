/*
 * nncc_helium_dot.h: the body of nncc_helium_dot<n>_s8: 2 rows x 4 channels, a row of n vectors unrolled. An including file
 * defines NNCC_DOT_VECTORS (1 to 9) and NNCC_DOT_ROUND (NNCC_ROUND_ALL or, for act_min >= zero, NNCC_ROUND_RELU).
 */
#ifndef NNCC_HELIUM_DOT_H
#define NNCC_HELIUM_DOT_H

#include "nncc_helium_rows.h"

#if NNCC_HELIUM_MVE

/* The record pointer is biased, so that all of a record is in reach of immediate offsets (multiples of 4 up to 508). */
#define NNCC_DOT_BIAS 128

/* Vector k of both rows (q0, q1) with the weights of 4 channels. */
#define NNCC_DOT_MACS(op, k)                                                                                                       \
    "vldrw.32 q2,[%[w],#64*" #k "-80]\n" op " r0,q2,q0\n" op " r8,q2,q1\n"                                             \
    "vldrw.32 q2,[%[w],#64*" #k "-64]\n" op " r2,q2,q0\n" op " r10,q2,q1\n"                                            \
    "vldrw.32 q2,[%[w],#64*" #k "-48]\n" op " r4,q2,q0\n" op " r12,q2,q1\n"                                            \
    "vldrw.32 q2,[%[w],#64*" #k "-32]\n" op " r6,q2,q0\n" op " lr,q2,q1\n"
#define NNCC_DOT_AT(op, k)                                                                                                         \
    "vldrw.32 q1,[%[x],#16*(%c[n]+" #k ")]\nvldrw.32 q0,[%[x],#16*" #k "]\n" NNCC_DOT_MACS(op, k)
#define NNCC_DOT_NEXT(k) NNCC_DOT_AT("vmladava.s8", k)
#define NNCC_DOT_FIRST(k) NNCC_DOT_AT("vmladav.s8", k)
/* Vector 0 comes last: its load steps on to the next two rows. */
#define NNCC_DOT_LAST(op) "vldrw.32 q1,[%[x],#16*%c[n]]\nvldrw.32 q0,[%[x]],#32*%c[n]\n" NNCC_DOT_MACS(op, 0)

#define NNCC_DOT_DOWN2 NNCC_DOT_NEXT(1) NNCC_DOT_LAST("vmladava.s8")
#define NNCC_DOT_DOWN3 NNCC_DOT_NEXT(2) NNCC_DOT_DOWN2
#define NNCC_DOT_DOWN4 NNCC_DOT_NEXT(3) NNCC_DOT_DOWN3
#define NNCC_DOT_DOWN5 NNCC_DOT_NEXT(4) NNCC_DOT_DOWN4
#define NNCC_DOT_DOWN6 NNCC_DOT_NEXT(5) NNCC_DOT_DOWN5
#define NNCC_DOT_DOWN7 NNCC_DOT_NEXT(6) NNCC_DOT_DOWN6
#define NNCC_DOT_DOWN8 NNCC_DOT_NEXT(7) NNCC_DOT_DOWN7

#if NNCC_DOT_VECTORS == 1
#define NNCC_DOT_ROW NNCC_DOT_LAST("vmladav.s8")
#elif NNCC_DOT_VECTORS == 2
#define NNCC_DOT_ROW NNCC_DOT_FIRST(1) NNCC_DOT_LAST("vmladava.s8")
#elif NNCC_DOT_VECTORS == 3
#define NNCC_DOT_ROW NNCC_DOT_FIRST(2) NNCC_DOT_DOWN2
#elif NNCC_DOT_VECTORS == 4
#define NNCC_DOT_ROW NNCC_DOT_FIRST(3) NNCC_DOT_DOWN3
#elif NNCC_DOT_VECTORS == 5
#define NNCC_DOT_ROW NNCC_DOT_FIRST(4) NNCC_DOT_DOWN4
#elif NNCC_DOT_VECTORS == 6
#define NNCC_DOT_ROW NNCC_DOT_FIRST(5) NNCC_DOT_DOWN5
#elif NNCC_DOT_VECTORS == 7
#define NNCC_DOT_ROW NNCC_DOT_FIRST(6) NNCC_DOT_DOWN6
#elif NNCC_DOT_VECTORS == 8
#define NNCC_DOT_ROW NNCC_DOT_FIRST(7) NNCC_DOT_DOWN7
#else
#define NNCC_DOT_ROW NNCC_DOT_FIRST(8) NNCC_DOT_DOWN8
#endif

/* x is 4-byte aligned here. */
static void nncc_dot_pairs(const nncc_helium_mac *p, const int8_t *x, const int8_t *record, int8_t *y, int32_t pairs)
{
    NNCC_REG(const int8_t *, from, "r1", x);
    NNCC_REG(const int8_t *, w, "r3", record + NNCC_DOT_BIAS);
    NNCC_REG(int8_t *, to, "r5", y);
    NNCC_REG(int32_t, n, "r9", pairs);
    NNCC_REG(const nncc_helium_mac *, mac, "r11", p);

    __asm volatile("vldrw.32 q5,[%[w],#-128]\n"
                   "vldrw.32 q6,[%[w],#-112]\n"
                   "vldrw.32 q7,[%[w],#-96]\n"
                   "ldrd r0, r2, [%[p], #8]\n"
                   "vdup.32 q3, r0\n"
                   "vdup.32 q4, r2\n"
                   "1:\n" NNCC_DOT_ROW NNCC_DOT_COLLECT
                   "ldrd r0, r2, [%[p]]\n"
                   "vadd.i32 q0, q0, q5\n"
                   "vadd.i32 q1, q1, q5\n"
                   NNCC_DOT_REQUANTISE(q0, NNCC_DOT_ROUND, q2)
                   NNCC_DOT_REQUANTISE(q1, NNCC_DOT_ROUND, q2)
                   "vstrb.32 q0, [%[y]]\n"
                   "add %[y], %[y], r0\n"
                   "vstrb.32 q1, [%[y]]\n"
                   "add %[y], %[y], r0\n"
                   "subs %[pairs], %[pairs], #1\n"
                   "bne 1b\n"
                   : [x] "+r"(from), [y] "+r"(to), [pairs] "+r"(n)
                   : [w] "r"(w), [p] "r"(mac), [n] "n"(NNCC_DOT_VECTORS)
                   : NNCC_DOT_ACCUMULATORS, "cc", "memory");
}

#endif

/*
 * A kernel: x may lie anywhere, though the arena places it on 16 bytes unless it is a part of a larger tensor; then pairs of
 * rows are brought into line first.
 */
static inline void nncc_dot(const nncc_helium_mac *p, const int8_t *x, const int8_t *packed, int8_t *y, int32_t rows)
{
    int32_t two[2 * 4 * NNCC_DOT_VECTORS];
    int32_t r;

    if (((uintptr_t)x & 3u) == 0u) {
        nncc_dot_rows(p, x, packed, y, rows);
        return;
    }
    for (r = 0; r < rows; r += 2) {
        int32_t at = r + 2 <= rows ? r : rows - 2;

        memcpy(two, x + at * NNCC_HELIUM_BYTES * NNCC_DOT_VECTORS, sizeof two);
        nncc_dot_rows(p, (const int8_t *)two, packed, y + at * p->pitch, 2);
    }
}

#endif /* NNCC_HELIUM_DOT_H */
