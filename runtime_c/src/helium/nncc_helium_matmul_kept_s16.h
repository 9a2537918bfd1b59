/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_matmul_kept_s16.h: the body of nncc_helium_matmul_kept_*_s16. A file defines NNCC_KEPT_VECTORS (1 to 5,
 * vectors of a row), NNCC_KEPT_MORE (0 to 2 inputs behind them) and NNCC_KEPT_RELU (1: negative results are 0). Two
 * rows of more than three vectors do not fit the registers: every record reads them again, and a single row stays.
 */
#ifndef NNCC_HELIUM_MATMUL_KEPT_S16_H
#define NNCC_HELIUM_MATMUL_KEPT_S16_H

#include "nncc_helium_core.h"

/* Bytes of weights and of a record of four channels, in front of its bias, and of one of one channel. */
#define NNCC_KEPT_WEIGHTS (32 * NNCC_KEPT_VECTORS)
#define NNCC_KEPT_HEAD (NNCC_KEPT_WEIGHTS + 4 * NNCC_KEPT_MORE)
#define NNCC_KEPT_RECORD (NNCC_KEPT_HEAD + 32)
#define NNCC_KEPT_AGAIN (NNCC_KEPT_VECTORS > 3)
#define NNCC_KEPT_ALONE (8 + 8 * NNCC_KEPT_VECTORS + (NNCC_KEPT_MORE > 0 ? 4 : 0))

/* What rows share; the assembly has the offsets, from `more` on, and moves what is in front of it at once. */
typedef struct
{
    int32_t step;
    int32_t pitch;
    const int8_t *x; /* the next row */
    int8_t *y;
    int32_t left;       /* rows in the line */
    int32_t more[4];    /* 0: inputs behind the vectors, each of both rows */
    int32_t tail;       /* 16: inputs in the last vector */
    const int8_t *w;    /* 20: records of four channels */
    const int8_t *full; /* 24: their end */
    int32_t back;       /* 28: bytes of outputs that the last record has again, 0: single channels are left */
    const int8_t *end;  /* 32: of all records */
    int8_t *to[2];      /* 36: where the next results of both rows go, if the rows are in r3 and r5 */
    int8_t *stop;       /* 44: behind the outputs of the last pair's row 1 */
    int32_t line;       /* 48 */
    int32_t skip;       /* 52 */
} nncc_kept_frame;

#if NNCC_HELIUM_ASM

#define NNCC_KEPT_LOAD(q) "vldrb.s16 " q ",[r1],#8\n"
/* The vectors a of row 0 and b of row 1 by four channels. */
#define NNCC_KEPT_BOTH(op, q, a, b, to0, to1) op " " to0 "," q "," a "\n" op " " to1 "," q "," b "\n"
#define NNCC_KEPT_TWO(op, a, b) \
    NNCC_KEPT_LOAD("q0") \
    NNCC_KEPT_LOAD("q1") \
    NNCC_KEPT_BOTH(op, "q0", a, b, "r0", "r8") \
    NNCC_KEPT_LOAD("q0") \
    NNCC_KEPT_BOTH(op, "q1", a, b, "r2", "r10") \
    NNCC_KEPT_LOAD("q1") NNCC_KEPT_BOTH(op, "q0", a, b, "r4", "r12") NNCC_KEPT_BOTH(op, "q1", a, b, "r6", "lr")
#define NNCC_KEPT_ONE(op, a) \
    NNCC_KEPT_LOAD("q0") \
    NNCC_KEPT_LOAD("q1") \
    op " r0,q0," a "\n" NNCC_KEPT_LOAD("q0") op " r2,q1," a "\n" NNCC_KEPT_LOAD("q1") op " r4,q0," a "\n" op \
                                                                                         " r6,q1," a "\n"
/* One channel. */
#define NNCC_KEPT_TWO_ALONE(op, a, b) NNCC_KEPT_LOAD("q0") NNCC_KEPT_BOTH(op, "q0", a, b, "r0", "r2")
#define NNCC_KEPT_ONE_ALONE(op, a) NNCC_KEPT_LOAD("q0") op " r0,q0," a "\n"

/* Rows are in q2, q3 and so on, row 1 behind row 0, or, read again, at r3 and r5; the last vector, if nothing is behind
 * it, ends where the row does. */
#if NNCC_KEPT_MORE > 0
#define NNCC_KEPT_TAIL
#define NNCC_KEPT_IF2
#define NNCC_KEPT_IF1
#define NNCC_KEPT_T "vldrh.16 "
#else
#define NNCC_KEPT_TAIL "ldr r0,[%[f],#16]\nvctp.16 r0\n"
#define NNCC_KEPT_IF2 "vpstt\n"
#define NNCC_KEPT_IF1 "vpst\n"
#define NNCC_KEPT_T "vldrht.16 "
#endif
#if NNCC_KEPT_VECTORS == 1
#define NNCC_KEPT_GET2 NNCC_KEPT_IF2 NNCC_KEPT_T "q2,[r2]\n" NNCC_KEPT_T "q3,[r11]\n"
#define NNCC_KEPT_GET1 NNCC_KEPT_IF1 NNCC_KEPT_T "q2,[r1]\n"
#define NNCC_KEPT_SUMS2(each) each("vmladav.s16", "q2", "q3")
#define NNCC_KEPT_SUMS1(each) each("vmladav.s16", "q2")
#elif NNCC_KEPT_VECTORS == 2
#define NNCC_KEPT_GET2 \
    "vldrh.16 q2,[r2]\nvldrh.16 q4,[r11]\n" NNCC_KEPT_IF2 NNCC_KEPT_T "q3,[r2,#16]\n" NNCC_KEPT_T "q5,[r11,#16]\n"
#define NNCC_KEPT_GET1 "vldrh.16 q2,[r1]\n" NNCC_KEPT_IF1 NNCC_KEPT_T "q3,[r1,#16]\n"
#define NNCC_KEPT_SUMS2(each) each("vmladav.s16", "q2", "q4") each("vmladava.s16", "q3", "q5")
#define NNCC_KEPT_SUMS1(each) each("vmladav.s16", "q2") each("vmladava.s16", "q3")
#elif NNCC_KEPT_VECTORS == 3
#define NNCC_KEPT_GET2 \
    "vldrh.16 q2,[r2]\nvldrh.16 q3,[r2,#16]\nvldrh.16 q5,[r11]\nvldrh.16 q6,[r11,#16]\n" NNCC_KEPT_IF2 NNCC_KEPT_T \
    "q4,[r2,#32]\n" NNCC_KEPT_T "q7,[r11,#32]\n"
#define NNCC_KEPT_GET1 "vldrh.16 q2,[r1]\nvldrh.16 q3,[r1,#16]\n" NNCC_KEPT_IF1 NNCC_KEPT_T "q4,[r1,#32]\n"
#define NNCC_KEPT_SUMS2(each) \
    each("vmladav.s16", "q2", "q5") each("vmladava.s16", "q3", "q6") each("vmladava.s16", "q4", "q7")
#define NNCC_KEPT_SUMS1(each) each("vmladav.s16", "q2") each("vmladava.s16", "q3") each("vmladava.s16", "q4")
#else
#define NNCC_KEPT_GET2 "strd r3,r5,[%[f],#36]\nmov r3,r2\nmov r5,r11\n"
#define NNCC_KEPT_PART(each, op, at) "vldrh.16 q2,[r3,#" at "]\nvldrh.16 q3,[r5,#" at "]\n" each(op, "q2", "q3")
#define NNCC_KEPT_LAST(each, at) \
    NNCC_KEPT_IF2 NNCC_KEPT_T "q2,[r3,#" at "]\n" NNCC_KEPT_T "q3,[r5,#" at "]\n" each("vmladava.s16", "q2", "q3")
#define NNCC_KEPT_FIRST3(each) \
    NNCC_KEPT_PART(each, "vmladav.s16", "0") \
    NNCC_KEPT_PART(each, "vmladava.s16", "16") NNCC_KEPT_PART(each, "vmladava.s16", "32")
#define NNCC_KEPT_GET1_3 "vldrh.16 q2,[r1]\nvldrh.16 q3,[r1,#16]\nvldrh.16 q4,[r1,#32]\n"
#define NNCC_KEPT_SUMS1_4(each) \
    each("vmladav.s16", "q2") each("vmladava.s16", "q3") each("vmladava.s16", "q4") each("vmladava.s16", "q5")
#if NNCC_KEPT_VECTORS == 4
#define NNCC_KEPT_SUMS2(each) NNCC_KEPT_FIRST3(each) NNCC_KEPT_LAST(each, "48")
#define NNCC_KEPT_GET1 NNCC_KEPT_GET1_3 NNCC_KEPT_IF1 NNCC_KEPT_T "q5,[r1,#48]\n"
#define NNCC_KEPT_SUMS1(each) NNCC_KEPT_SUMS1_4(each)
#else
#define NNCC_KEPT_SUMS2(each) \
    NNCC_KEPT_FIRST3(each) NNCC_KEPT_PART(each, "vmladava.s16", "48") NNCC_KEPT_LAST(each, "64")
#define NNCC_KEPT_GET1 NNCC_KEPT_GET1_3 "vldrh.16 q5,[r1,#48]\n" NNCC_KEPT_IF1 NNCC_KEPT_T "q6,[r1,#64]\n"
#define NNCC_KEPT_SUMS1(each) NNCC_KEPT_SUMS1_4(each) each("vmladava.s16", "q6")
#endif
#endif

/* Results of both rows, four or one, from q0 and q1 or r0 and r2, and what the last record goes back, r0 bytes. */
#if NNCC_KEPT_AGAIN
#define NNCC_KEPT_PUT(r, s, code) "ldrd " r "," s ",[%[f],#36]\n" code "strd " r "," s ",[%[f],#36]\n"
#define NNCC_KEPT_PUT2 NNCC_KEPT_PUT("r0", "r2", "vstrh.32 q0,[r0],#8\nvstrh.32 q1,[r2],#8\n")
#define NNCC_KEPT_PUT2_ALONE NNCC_KEPT_PUT("r4", "r6", "strh r0,[r4],#2\nstrh r2,[r6],#2\n")
#define NNCC_KEPT_BACK2 NNCC_KEPT_PUT("r2", "r4", "sub r2,r2,r0\nsub r4,r4,r0\n")
#else
#define NNCC_KEPT_PUT2 "vstrh.32 q0,[r3],#8\nvstrh.32 q1,[r5],#8\n"
#define NNCC_KEPT_PUT2_ALONE "strh r0,[r3],#2\nstrh r2,[r5],#2\n"
#define NNCC_KEPT_BACK2 "sub r3,r3,r0\nsub r5,r5,r0\n"
#endif

#define NNCC_KEPT_TEXT1(v) #v
#define NNCC_KEPT_TEXT(v) NNCC_KEPT_TEXT1(v)
/* An input behind the vectors. */
#define NNCC_KEPT_AT(x, more) "[" x ",#2*(8*" NNCC_KEPT_TEXT(NNCC_KEPT_VECTORS) "+" more ")]\n"
#define NNCC_KEPT_KEEP2(more) \
    "ldrsh r0," NNCC_KEPT_AT("r2", more) "ldrsh r4," NNCC_KEPT_AT("r11", more) "strd r0,r4,[%[f],#8*" more "]\n"
#define NNCC_KEPT_KEEP1(more) "ldrsh r0," NNCC_KEPT_AT("r1", more) "str r0,[%[f],#8*" more "]\n"

/* The same by four channels, of both rows in q0 and q1, or of one in q0. Of a row whose inputs are in registers w stays
 * where it is, or goes on. */
#define NNCC_KEPT_MAC2(a, b) "vldrb.s32 q6,[r1],#4\nvmla.s32 q0,q6," a "\nvmla.s32 q1,q6," b "\n"
#define NNCC_KEPT_MAC1(more) "vldrb.s32 q1,[r1],#4\nldr r0,[%[f],#8*" more "]\nvmla.s32 q0,q1,r0\n"
#define NNCC_KEPT_STAY(more, r) "vldrb.s32 q1,[r1,#4*" more "]\nvmla.s32 q0,q1," r "\n"
#define NNCC_KEPT_GO(more, r) "vldrb.s32 q1,[r1],#4\nvmla.s32 q0,q1," r "\n"
#define NNCC_KEPT_MAC2_ALONE(more, step) \
    "ldrsb r4,[r1],#" step "\nldrd r6,r8,[%[f],#8*" more "]\nmla r0,r6,r4,r0\nmla r2,r8,r4,r2\n"
#define NNCC_KEPT_MAC1_ALONE(more, step) "ldrsb r4,[r1],#" step "\nldr r6,[%[f],#8*" more "]\nmla r0,r6,r4,r0\n"

#if NNCC_KEPT_MORE == 0
#define NNCC_KEPT_ALL(each)
#define NNCC_KEPT_ALL_ALONE(each)
#define NNCC_KEPT_INPUTS
#define NNCC_KEPT_STEPS(step, a, b)
#elif NNCC_KEPT_MORE == 1
#define NNCC_KEPT_ALL(each) each("0")
#define NNCC_KEPT_ALL_ALONE(each) each("0", "4")
#define NNCC_KEPT_INPUTS "ldrd r0,r2,[%[f]]\n"
#define NNCC_KEPT_STEPS(step, a, b) step("0", a)
#else
#define NNCC_KEPT_ALL(each) each("0") each("1")
#define NNCC_KEPT_ALL_ALONE(each) each("0", "1") each("1", "3")
#define NNCC_KEPT_INPUTS "ldm %[f],{r0,r2,r4,r6}\n"
#define NNCC_KEPT_STEPS(step, a, b) step("0", a) step("1", b)
#endif

#if NNCC_KEPT_RELU
#define NNCC_KEPT_CLAMP(q) "vqshlu.s16 " q "," q ",#0\n"
#define NNCC_KEPT_CLAMP_ALONE(r) "usat " r ",#15," r "\n"
#else
#define NNCC_KEPT_CLAMP(q)
#define NNCC_KEPT_CLAMP_ALONE(r) "ssat " r ",#16," r "\n"
#endif
#define NNCC_KEPT_ROW0 "vmov q0[2],q0[0],r0,r4\nvmov q0[3],q0[1],r2,r6\n"
#define NNCC_KEPT_ROW1(q) "vmov " q "[2]," q "[0],r8,r12\nvmov " q "[3]," q "[1],r10,lr\n"
/* Sums in q0 as results, with bias and multipliers that w goes beyond, or does not. */
#define NNCC_KEPT_SCALED(at, next) \
    "vldrw.32 q1," at "\nvadd.i32 q0,q0,q1\nvldrw.32 q1," next \
    "\nvqrdmulh.s32 q0,q0,q1\nvqmovnb.s32 q0,q0\n" NNCC_KEPT_CLAMP("q0")
#if NNCC_KEPT_MORE == 0
#define NNCC_KEPT_MACS2
#elif NNCC_KEPT_MORE == 1
#define NNCC_KEPT_MACS2 NNCC_KEPT_INPUTS NNCC_KEPT_MAC2("r0", "r2")
#else
#define NNCC_KEPT_MACS2 NNCC_KEPT_INPUTS NNCC_KEPT_MAC2("r0", "r2") NNCC_KEPT_MAC2("r4", "r6")
#endif
#if NNCC_KEPT_VECTORS != 3
#define NNCC_KEPT_OUT2 \
    NNCC_KEPT_ROW0 NNCC_KEPT_ROW1("q1") NNCC_KEPT_MACS2 \
        "vldrw.32 q6,[r1],#16\nvadd.i32 q0,q0,q6\nvadd.i32 q1,q1,q6\nvldrw.32 q7,[r1],#16\n" \
        "vqrdmulh.s32 q0,q0,q7\nvqrdmulh.s32 q1,q1,q7\nvqmovnb.s32 q0,q0\nvqmovnb.s32 q1,q1\n" NNCC_KEPT_CLAMP("q0") \
            NNCC_KEPT_CLAMP("q1") NNCC_KEPT_PUT2
#else
/* All vectors but two hold rows, so results come row by row. */
#define NNCC_KEPT_OUT2 \
    NNCC_KEPT_ROW0 NNCC_KEPT_INPUTS NNCC_KEPT_STEPS(NNCC_KEPT_STAY, "r0", "r4") \
        NNCC_KEPT_SCALED("[r1,#4*" NNCC_KEPT_TEXT(NNCC_KEPT_MORE) "]", \
                         "[r1,#16+4*" NNCC_KEPT_TEXT(NNCC_KEPT_MORE) "]") "vstrh.32 q0,[r3],#8\n" NNCC_KEPT_ROW1("q0") \
            NNCC_KEPT_STEPS(NNCC_KEPT_GO, "r2", "r6") NNCC_KEPT_SCALED("[r1],#16", "[r1],#16") "vstrh.32 q0,[r5],#8\n"
#endif

/* Whether the pair was not the last one. */
#if NNCC_KEPT_AGAIN
#define NNCC_KEPT_ON "ldrd r0,r2,[%[f],#40]\ncmp r0,r2\n"
#else
#define NNCC_KEPT_ON "ldr r0,[%[f],#44]\ncmp r0,r5\n"
#endif

/* All channels of pairs of rows. */
static void nncc_kept_pairs(nncc_kept_frame *f)
{
    NNCC_REG(int32_t *, frame, "r9", f->more);

    /* clang-format off */
    __asm volatile(NNCC_KEPT_TAIL
                   "10:\n"
                   "ldmdb %[f],{r0-r4}\n"
                   "add r11,r2,r0\n"
                   "add r5,r3,r1\n"
                   "add r0,r11,r0\n"
                   "add r1,r5,r1\n"
                   "subs r4,r4,#2\n"
                   "ble 6f\n"
                   "7:\n"
                   "stmdb %[f],{r0,r1,r4}\n"
                   NNCC_KEPT_GET2
                   NNCC_KEPT_ALL(NNCC_KEPT_KEEP2)
                   "ldrd r1,r11,[%[f],#20]\n"
                   "1:\n"
                   NNCC_KEPT_SUMS2(NNCC_KEPT_TWO)
                   NNCC_KEPT_OUT2
                   "cmp r1,r11\n"
                   "bne.w 1b\n"
                   "ldrd r0,r11,[%[f],#28]\n"
                   "cmp r1,r11\n"
                   "beq 3f\n"
                   "cbz r0,2f\n"
                   NNCC_KEPT_BACK2
                   "b 1b\n"
                   "6:\n" /* the line ends behind row 1, or between both */
                   "ldrd r6,r8,[%[f],#48]\n"
                   "it mi\n"
                   "addmi r11,r11,r8\n"
                   "add r0,r0,r8\n"
                   "adds r4,r4,r6\n"
                   "bne 7b\n"
                   "add r0,r0,r8\n"
                   "mov r4,r6\n"
                   "b 7b\n"
                   "2:\n" /* a channel by itself */
                   "ldrd r10,r12,[r1],#8\n"
                   NNCC_KEPT_SUMS2(NNCC_KEPT_TWO_ALONE)
                   NNCC_KEPT_ALL_ALONE(NNCC_KEPT_MAC2_ALONE)
                   "add r0,r0,r10\n"
                   "add r2,r2,r10\n"
                   "smmulr r0,r0,r12\n"
                   "smmulr r2,r2,r12\n"
                   NNCC_KEPT_CLAMP_ALONE("r0")
                   NNCC_KEPT_CLAMP_ALONE("r2")
                   NNCC_KEPT_PUT2_ALONE
                   "cmp r1,r11\n"
                   "bne 2b\n"
                   "3:\n"
                   NNCC_KEPT_ON
                   "bne.w 10b\n"
                   :
                   : [f] "r"(frame)
                   : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r10", "r11", "r12", "lr", "q0", "q1", "q2", "q3",
                     "q4", "q5", "q6", "q7", "cc", "memory");
    /* clang-format on */
}

/* All channels of one row. */
static void nncc_kept_one(nncc_kept_frame *f)
{
    NNCC_REG(const int8_t *, w, "r1", f->x);
    NNCC_REG(int8_t *, y0, "r3", f->y);
    NNCC_REG(int32_t *, frame, "r9", f->more);

    /* clang-format off */
    __asm volatile(NNCC_KEPT_TAIL
                   NNCC_KEPT_GET1
                   NNCC_KEPT_ALL(NNCC_KEPT_KEEP1)
                   "ldrd r1,r12,[%[f],#20]\n"
                   "1:\n"
                   NNCC_KEPT_SUMS1(NNCC_KEPT_ONE)
                   NNCC_KEPT_ROW0
                   NNCC_KEPT_ALL(NNCC_KEPT_MAC1)
                   NNCC_KEPT_SCALED("[r1],#16", "[r1],#16")
                   "vstrh.32 q0,[r3],#8\n"
                   "cmp r1,r12\n"
                   "bne 1b\n"
                   "ldrd r0,r12,[%[f],#28]\n"
                   "cmp r1,r12\n"
                   "beq 3f\n"
                   "cbz r0,2f\n"
                   "sub r3,r3,r0\n"
                   "b 1b\n"
                   "2:\n"
                   "ldrd r10,r8,[r1],#8\n"
                   NNCC_KEPT_SUMS1(NNCC_KEPT_ONE_ALONE)
                   NNCC_KEPT_ALL_ALONE(NNCC_KEPT_MAC1_ALONE)
                   "add r0,r0,r10\n"
                   "smmulr r0,r0,r8\n"
                   NNCC_KEPT_CLAMP_ALONE("r0")
                   "strh r0,[r3],#2\n"
                   "cmp r1,r12\n"
                   "bne 2b\n"
                   "3:\n"
                   : [w] "+r"(w), [y0] "+r"(y0)
                   : [f] "r"(frame)
                   : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "cc",
                     "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

#define NNCC_KEPT_INPUT(x) vldrhq_s16((const int16_t *)(const void *)(x))

/* Vector k of a row, the last one of those that a row has under a predicate. */
static inline int16x8_t nncc_kept_vector(const nncc_kept_frame *f, const int8_t *x, int32_t k)
{
    if (NNCC_KEPT_MORE == 0 && k == NNCC_KEPT_VECTORS - 1) {
        return vldrhq_z_s16((const int16_t *)(const void *)(x + NNCC_HELIUM_BYTES * k), vctp16q((uint32_t)f->tail));
    }
    return NNCC_KEPT_INPUT(x + NNCC_HELIUM_BYTES * k);
}

/* An input behind the vectors. */
static inline int32_t nncc_kept_more(const int8_t *x, int32_t i)
{
    int16_t v;

    memcpy(&v, x + NNCC_HELIUM_BYTES * NNCC_KEPT_VECTORS + 2 * i, sizeof v);
    return v;
}

#define NNCC_KEPT_ROW(name, x) \
    const int16x8_t name##0 = nncc_kept_vector(f, x, 0); \
    const int16x8_t name##1 = NNCC_KEPT_VECTORS > 1 ? nncc_kept_vector(f, x, 1) : name##0; \
    const int16x8_t name##2 = NNCC_KEPT_VECTORS > 2 ? nncc_kept_vector(f, x, 2) : name##0; \
    const int16x8_t name##3 = NNCC_KEPT_VECTORS > 3 ? nncc_kept_vector(f, x, 3) : name##0; \
    const int16x8_t name##4 = NNCC_KEPT_VECTORS > 4 ? nncc_kept_vector(f, x, 4) : name##0; \
    const int32_t name##5 = NNCC_KEPT_MORE > 0 ? nncc_kept_more(x, 0) : 0; \
    const int32_t name##6 = NNCC_KEPT_MORE > 1 ? nncc_kept_more(x, 1) : 0

/*
 * What the pointer to weights is biased by: with up to four vectors no offset of a widening load is 0, or 64 and more,
 * which GCC does not take.
 */
#define NNCC_KEPT_OFF 60

/* Sums of row u, and of row v or none, with a channel whose vectors of weights are `step` bytes apart. */
#define NNCC_KEPT_STEP2(op0, op1, k, at, step, a, b) \
    do { \
        const int16x8_t q = vldrbq_s16(w + (at) + (step) * (k)-NNCC_KEPT_OFF); \
\
        a = op0(a, u##k, q); \
        b = op1(b, v##k, q); \
    } while (0)
#define NNCC_KEPT_BEGIN(sum, x, q) vmladavq_s16(x, q)
#define NNCC_KEPT_NONE(sum, x, q) 0
#define NNCC_KEPT_SUM(begin, add, at, step, a, b) \
    do { \
        NNCC_KEPT_STEP2(NNCC_KEPT_BEGIN, begin, 0, at, step, a, b); \
        if (NNCC_KEPT_VECTORS > 1) { \
            NNCC_KEPT_STEP2(vmladavaq_s16, add, 1, at, step, a, b); \
        } \
        if (NNCC_KEPT_VECTORS > 2) { \
            NNCC_KEPT_STEP2(vmladavaq_s16, add, 2, at, step, a, b); \
        } \
        if (NNCC_KEPT_VECTORS > 3) { \
            NNCC_KEPT_STEP2(vmladavaq_s16, add, 3, at, step, a, b); \
        } \
        if (NNCC_KEPT_VECTORS > 4) { \
            NNCC_KEPT_STEP2(vmladavaq_s16, add, 4, at, step, a, b); \
        } \
    } while (0)
#if NNCC_KEPT_AGAIN && !defined(__clang__)
/* Vector by vector, which GCC takes less for: what the registers do not hold is loaded once for four channels. */
#define NNCC_KEPT_FOUR2(op0, op1, k) \
    do { \
        NNCC_KEPT_STEP2(op0, op1, k, 0, 32, a0, b0); \
        NNCC_KEPT_STEP2(op0, op1, k, 8, 32, a1, b1); \
        NNCC_KEPT_STEP2(op0, op1, k, 16, 32, a2, b2); \
        NNCC_KEPT_STEP2(op0, op1, k, 24, 32, a3, b3); \
    } while (0)
#define NNCC_KEPT_SUMS(begin, add) \
    do { \
        NNCC_KEPT_FOUR2(NNCC_KEPT_BEGIN, begin, 0); \
        NNCC_KEPT_FOUR2(vmladavaq_s16, add, 1); \
        NNCC_KEPT_FOUR2(vmladavaq_s16, add, 2); \
        NNCC_KEPT_FOUR2(vmladavaq_s16, add, 3); \
        if (NNCC_KEPT_VECTORS > 4) { \
            NNCC_KEPT_FOUR2(vmladavaq_s16, add, 4); \
        } \
    } while (0)
#else
#define NNCC_KEPT_SUMS(begin, add) \
    do { \
        NNCC_KEPT_SUM(begin, add, 0, 32, a0, b0); \
        NNCC_KEPT_SUM(begin, add, 8, 32, a1, b1); \
        NNCC_KEPT_SUM(begin, add, 16, 32, a2, b2); \
        NNCC_KEPT_SUM(begin, add, 24, 32, a3, b3); \
    } while (0)
#endif

/* The bias and the multipliers of a record: where three vectors leave no registers for them, each row loads them. */
#if NNCC_KEPT_VECTORS < 3
#define NNCC_KEPT_NUMBERS \
    const int32x4_t bias = nncc_words(w + NNCC_KEPT_HEAD - NNCC_KEPT_OFF); \
    const int32x4_t mult = nncc_words(w + NNCC_KEPT_HEAD + 16 - NNCC_KEPT_OFF)
#define NNCC_KEPT_WORDS(at, loaded) (loaded)
#else
#define NNCC_KEPT_NUMBERS (void)0
#define NNCC_KEPT_WORDS(at, loaded) nncc_words(w + NNCC_KEPT_HEAD + (at)-NNCC_KEPT_OFF)
#endif

/* Four sums of a row as results. */
#define NNCC_KEPT_FOUR(x, s0, s1, s2, s3, to) \
    do { \
        int32x4_t s = nncc_four(s0, s1, s2, s3); \
\
        if (NNCC_KEPT_MORE > 0) { \
            s = vmlaq_n_s32(s, vldrbq_s32(w + NNCC_KEPT_WEIGHTS - NNCC_KEPT_OFF), x##5); \
        } \
        if (NNCC_KEPT_MORE > 1) { \
            s = vmlaq_n_s32(s, vldrbq_s32(w + NNCC_KEPT_WEIGHTS + 4 - NNCC_KEPT_OFF), x##6); \
        } \
        s = vqrdmulhq_s32(vaddq_s32(s, NNCC_KEPT_WORDS(0, bias)), NNCC_KEPT_WORDS(16, mult)); \
        s = vreinterpretq_s32_s16(vqmovnbq_s32(vreinterpretq_s16_s32(s), s)); \
        if (NNCC_KEPT_RELU) { \
            s = vreinterpretq_s32_u16(vqshluq_n_s16(vreinterpretq_s16_s32(s), 0)); \
        } \
        vstrhq_s32((int16_t *)(void *)(to), s); \
        (to) += 8; \
    } while (0)

/* The result of a row and a channel by itself, of whose sum inputs behind the vectors are no part yet. */
static inline void nncc_kept_alone(int32_t sum, int32_t x0, int32_t x1, const int8_t *w, int8_t *y)
{
    const int8_t *more = w + 8 + 8 * NNCC_KEPT_VECTORS;
    int32_t bias, mult, v;
    int16_t out;

    memcpy(&bias, w, sizeof bias);
    memcpy(&mult, w + 4, sizeof mult);
    sum += bias + (NNCC_KEPT_MORE > 0 ? x0 * more[0] : 0) + (NNCC_KEPT_MORE > 1 ? x1 * more[1] : 0);
    v = NNCC_SSAT((int32_t)(((int64_t)sum * mult + 0x80000000LL) >> 32), 16);
    out = (int16_t)(NNCC_KEPT_RELU ? v & ~(v >> 31) : v);
    memcpy(y, &out, sizeof out);
}

NNCC_MVE_IN_ORDER static void nncc_kept_two(const nncc_kept_frame *f, const int8_t *a, const int8_t *b)
{
    const int8_t *w = f->w + NNCC_KEPT_OFF, *end = f->full + NNCC_KEPT_OFF;
    int8_t *y = f->y, *other = y + f->pitch;
    int32_t a0, a1, a2, a3, b0, b1, b2, b3;
    NNCC_KEPT_ROW(u, a);
    NNCC_KEPT_ROW(v, b);

    (void)u1, (void)u2, (void)u3, (void)u4, (void)u5, (void)u6;
    (void)v1, (void)v2, (void)v3, (void)v4, (void)v5, (void)v6;
    for (;;) {
        do {
            NNCC_KEPT_SUMS(NNCC_KEPT_BEGIN, vmladavaq_s16);
            NNCC_KEPT_NUMBERS;

            NNCC_KEPT_FOUR(u, a0, a1, a2, a3, y);
            NNCC_KEPT_FOUR(v, b0, b1, b2, b3, other);
            w += NNCC_KEPT_RECORD;
        } while (w != end);
        end = f->end + NNCC_KEPT_OFF;
        if (w == end) {
            return;
        }
        if (f->back == 0) {
            do {
                NNCC_KEPT_SUM(NNCC_KEPT_BEGIN, vmladavaq_s16, 8, 8, a0, b0);
                nncc_kept_alone(a0, u5, u6, w - NNCC_KEPT_OFF, y);
                nncc_kept_alone(b0, v5, v6, w - NNCC_KEPT_OFF, other);
                w += NNCC_KEPT_ALONE;
                y += 2;
                other += 2;
            } while (w != end);
            return;
        }
        y -= f->back;
        other -= f->back;
    }
}

NNCC_MVE_IN_ORDER static void nncc_kept_one(const nncc_kept_frame *f)
{
    const int8_t *w = f->w + NNCC_KEPT_OFF, *end = f->full + NNCC_KEPT_OFF;
    int8_t *y = f->y;
    int32_t a0, a1, a2, a3, b0, b1, b2, b3;
    NNCC_KEPT_ROW(u, f->x);
    const int16x8_t v0 = u0, v1 = u1, v2 = u2, v3 = u3, v4 = u4;

    (void)u1, (void)u2, (void)u3, (void)u4, (void)u5, (void)u6, (void)v0, (void)v1, (void)v2, (void)v3, (void)v4;
    (void)b0, (void)b1, (void)b2, (void)b3;
    for (;;) {
        do {
            NNCC_KEPT_SUMS(NNCC_KEPT_NONE, NNCC_KEPT_NONE);
            NNCC_KEPT_NUMBERS;

            NNCC_KEPT_FOUR(u, a0, a1, a2, a3, y);
            w += NNCC_KEPT_RECORD;
        } while (w != end);
        end = f->end + NNCC_KEPT_OFF;
        if (w == end) {
            return;
        }
        if (f->back == 0) {
            do {
                NNCC_KEPT_SUM(NNCC_KEPT_NONE, NNCC_KEPT_NONE, 8, 8, a0, b0);
                nncc_kept_alone(a0, u5, u6, w - NNCC_KEPT_OFF, y);
                w += NNCC_KEPT_ALONE;
                y += 2;
            } while (w != end);
            return;
        }
        y -= f->back;
    }
}

#else

/* Weight i of channel c of a record of so many channels. */
static inline int32_t nncc_kept_weight(const int8_t *w, int32_t channels, int32_t c, int32_t i)
{
    const int32_t k = i / 8;

    return k < NNCC_KEPT_VECTORS ? w[8 * (channels * k + c) + i % 8]
                                 : w[channels * (8 * NNCC_KEPT_VECTORS + i % 8) + c];
}

/* The results of a row for as many channels, four or one, with weights and with bias and multipliers. */
static inline void nncc_kept_record(const nncc_kept_frame *f, const int8_t *x, const int8_t *w, const int8_t *numbers,
                                    int32_t channels, int8_t *y)
{
    const int32_t n = NNCC_KEPT_MORE > 0 ? 8 * NNCC_KEPT_VECTORS + NNCC_KEPT_MORE : 8 * NNCC_KEPT_VECTORS - 8 + f->tail;
    const int32_t low = NNCC_KEPT_RELU ? 0 : -32768;
    int32_t c;
    int32_t i;

    for (c = 0; c < channels; c++) {
        int32_t acc, mult, v;
        uint32_t sum;
        int16_t out;

        memcpy(&acc, numbers + 4 * c, sizeof acc);
        memcpy(&mult, numbers + 4 * (channels + c), sizeof mult);
        sum = (uint32_t)acc;
        for (i = 0; i < n; i++) {
            int16_t a;

            memcpy(&a, x + 2 * i, sizeof a);
            sum += (uint32_t)(a * nncc_kept_weight(w, channels, c, i));
        }
        v = (int32_t)(((((int64_t)(int32_t)sum * mult) >> (channels == 1 ? 31 : 30)) + 1) >> 1);
        v = v < low ? low : v;
        out = (int16_t)(v > 32767 ? 32767 : v);
        memcpy(y + 2 * c, &out, sizeof out);
    }
}

static void nncc_kept_row(const nncc_kept_frame *f, const int8_t *x, int8_t *y)
{
    const int8_t *w;

    for (w = f->w; w != f->full; w += NNCC_KEPT_RECORD) {
        nncc_kept_record(f, x, w, w + NNCC_KEPT_HEAD, 4, y);
        y += 8;
    }
    if (w != f->end && f->back > 0) {
        nncc_kept_record(f, x, w, w + NNCC_KEPT_HEAD, 4, y - f->back);
        return;
    }
    for (; w != f->end; w += NNCC_KEPT_ALONE) {
        nncc_kept_record(f, x, w + 8, w, 1, y);
        y += 2;
    }
}

static void nncc_kept_two(const nncc_kept_frame *f, const int8_t *a, const int8_t *b)
{
    nncc_kept_row(f, a, f->y);
    nncc_kept_row(f, b, f->y + f->pitch);
}

static void nncc_kept_one(const nncc_kept_frame *f)
{
    nncc_kept_row(f, f->x, f->y);
}

#endif

#if !NNCC_HELIUM_ASM

/* The next row. */
static inline const int8_t *nncc_kept_next(nncc_kept_frame *f)
{
    const int8_t *x = f->x;

    f->x += f->step;
    f->left--;
    if (f->left == 0) {
        f->left = f->line;
        f->x += f->skip;
    }
    return x;
}

static void nncc_kept_pairs(nncc_kept_frame *f)
{
    for (; f->y < f->stop; f->y += 2 * f->pitch) {
        const int8_t *a = nncc_kept_next(f);

        nncc_kept_two(f, a, nncc_kept_next(f));
    }
}

#endif

/* All channels over all rows. */
static inline void nncc_kept_rows(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                                  int32_t rows)
{
    const int32_t rest = p->channels & 3;
    nncc_kept_frame f;

    memcpy(&f.line, packed, sizeof f.line);
    memcpy(&f.skip, packed + sizeof f.line, sizeof f.skip);
    f.tail = p->tail / 2;
    f.w = packed + sizeof f.line + sizeof f.skip;
    f.full = f.w + (p->channels >> 2) * NNCC_KEPT_RECORD;
    f.back = rest == 3 ? 2 : 0;
    f.end = f.full + (rest == 3 ? NNCC_KEPT_RECORD : rest * NNCC_KEPT_ALONE);
    f.x = x;
    f.y = y;
    f.stop = y + ((rows & ~1) - 1) * p->pitch + 2 * p->channels;
    f.step = p->step;
    f.pitch = p->pitch;
    f.left = f.line;
    if (rows > 1) {
        nncc_kept_pairs(&f);
    }
    if ((rows & 1) != 0) {
        nncc_kept_one(&f);
    }
}

#endif /* NNCC_HELIUM_MATMUL_KEPT_S16_H */
