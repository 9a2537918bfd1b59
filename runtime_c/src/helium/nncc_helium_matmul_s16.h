/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_matmul_s16.h: the bodies of nncc_helium_matmul_*_s16. A file that defines NNCC_DOT_VECTORS (1 to 9) has
 * pairs of rows of so many vectors, unrolled; one that defines NNCC_DOT_BY (3 to 5) has a loop over so many, of which a
 * row has at least twice as many.
 */
#ifndef NNCC_HELIUM_MATMUL_S16_H
#define NNCC_HELIUM_MATMUL_S16_H

#include "nncc_helium_core.h"

/* Bytes of bias, multipliers and shifts in front of the weights of a record, and of those for a vector of 8 inputs. */
#define NNCC_RECORD16_HEAD 48
#define NNCC_RECORD16_VECTOR 32

static inline int32_t nncc_record16_bytes(int32_t vectors)
{
    return NNCC_RECORD16_HEAD + NNCC_RECORD16_VECTOR * vectors;
}

#if NNCC_HELIUM_ASM

/* Sums in q, bias in q5, multipliers in q6, shifts in q7, clamp in q3 and q4. */
#define NNCC_DOT16_OUTPUT(q) \
    "vadd.i32 " #q "," #q ",q5\nvqdmulh.s32 " #q "," #q ",q6\nvrshl.s32 " #q "," #q ",q7\nvmax.s32 " #q "," #q \
    ",q3\nvmin.s32 " #q "," #q ",q4\n"

#elif NNCC_HELIUM_MVE

/* Four sums as int16 results of the record, to y. */
#define NNCC_DOT16_HEAD(p, record) \
    const int32x4_t bias = nncc_words(record), mult = nncc_words((record) + 16), shift = nncc_words((record) + 32); \
    const int32x4_t lo = vdupq_n_s32((p)->act_min), hi = vdupq_n_s32((p)->act_max)
#define NNCC_DOT16_OUTPUT(v, y) \
    do { \
        int32x4_t r = vqdmulhq_s32(vaddq_s32(v, bias), mult); \
\
        r = vminq_s32(vmaxq_s32(vrshlq_s32(r, shift), lo), hi); \
        vstrhq_s32((int16_t *)(void *)(y), r); \
    } while (0)

/* Eight inputs; rows begin at any multiple of two bytes. */
static inline int16x8_t nncc_inputs16(const int8_t *x)
{
    return vldrhq_s16((const int16_t *)(const void *)x);
}

#else

/* sum * m / 2^(31 + shift), rounded once. */
static inline int32_t nncc_rounded16(int32_t sum, int32_t m, int32_t shift)
{
    return (int32_t)(((((int64_t)sum * m) >> 31) + ((int64_t)1 << (shift - 1))) >> shift);
}

/* 4 output channels of one row of n inputs. */
static inline void nncc_record16_row(const nncc_helium_matmul_params *p, const int8_t *x, int32_t n,
                                     const int8_t *record, int8_t *y)
{
    const int8_t *w = record + NNCC_RECORD16_HEAD;
    int32_t head[NNCC_RECORD16_HEAD / 4];
    int16_t out[4];
    int32_t c;
    int32_t i;

    memcpy(head, record, sizeof head);
    for (c = 0; c < 4; c++) {
        uint32_t acc = (uint32_t)head[c];
        int32_t v;

        for (i = 0; i < n; i++) {
            int16_t a;

            memcpy(&a, x + 2 * i, sizeof a);
            acc += (uint32_t)(a * w[i / 8 * NNCC_RECORD16_VECTOR + 8 * c + i % 8]);
        }
        v = nncc_rounded16((int32_t)acc, head[4 + c], -head[8 + c]);
        v = v < p->act_min ? p->act_min : v;
        out[c] = (int16_t)(v > p->act_max ? p->act_max : v);
    }
    memcpy(y, out, sizeof out);
}

#endif

#if defined(NNCC_DOT_VECTORS) || defined(NNCC_DOT_BY)

/* What pairs of rows share; the assembly has the offsets. */
typedef struct
{
    int32_t pitch;     /* 0 */
    const int8_t *end; /* 4: the first row that is not computed */
    int32_t act_min;   /* 8 */
    int32_t act_max;   /* 12 */
    int32_t next;      /* 16: bytes from behind a row to the next but one */
    int32_t weights;   /* 20: bytes of the weights of a record */
    int32_t more;      /* 24: turns of the loop after the first ones */
    int8_t *y;         /* 28 */
    int32_t vectors;
    int32_t step;
    int32_t pairs;
} nncc_dot16_frame;

#if NNCC_HELIUM_ASM

/* A vector of both rows with the weights of 4 channels. */
#define NNCC_DOT16_STEP(op) \
    "vldrh.16 q0,[%[x0]],#16\nvldrh.16 q1,[%[x1]],#16\n" \
    "vldrb.s16 q2,[%[w]],#8\n" op " r0,q2,q0\n" op " r8,q2,q1\n" \
    "vldrb.s16 q2,[%[w]],#8\n" op " r2,q2,q0\n" op " r10,q2,q1\n" \
    "vldrb.s16 q2,[%[w]],#8\n" op " r4,q2,q0\n" op " r12,q2,q1\n" \
    "vldrb.s16 q2,[%[w]],#8\n" op " r6,q2,q0\n" op " lr,q2,q1\n"
#define NNCC_DOT16_FIRST NNCC_DOT16_STEP("vmladav.s16")
#define NNCC_DOT16_MORE NNCC_DOT16_STEP("vmladava.s16")
#define NNCC_DOT16_2 NNCC_DOT16_MORE
#define NNCC_DOT16_3 NNCC_DOT16_2 NNCC_DOT16_MORE
#define NNCC_DOT16_4 NNCC_DOT16_3 NNCC_DOT16_MORE
#define NNCC_DOT16_5 NNCC_DOT16_4 NNCC_DOT16_MORE

#ifdef NNCC_DOT_BY
#define NNCC_DOT16_ROW \
    "ldr r9,[%[f],#24]\n" NNCC_DOT16_FIRST NNCC_DOT16_REST "2:\n" NNCC_DOT16_MORE NNCC_DOT16_REST "subs r9,r9,#1\n" \
    "bne 2b\n"
#if NNCC_DOT_BY == 3
#define NNCC_DOT16_REST NNCC_DOT16_3
#elif NNCC_DOT_BY == 4
#define NNCC_DOT16_REST NNCC_DOT16_4
#else
#define NNCC_DOT16_REST NNCC_DOT16_5
#endif
#elif NNCC_DOT_VECTORS == 1
#define NNCC_DOT16_ROW NNCC_DOT16_FIRST
#elif NNCC_DOT_VECTORS == 2
#define NNCC_DOT16_ROW NNCC_DOT16_FIRST NNCC_DOT16_2
#elif NNCC_DOT_VECTORS == 3
#define NNCC_DOT16_ROW NNCC_DOT16_FIRST NNCC_DOT16_3
#elif NNCC_DOT_VECTORS == 4
#define NNCC_DOT16_ROW NNCC_DOT16_FIRST NNCC_DOT16_4
#elif NNCC_DOT_VECTORS == 5
#define NNCC_DOT16_ROW NNCC_DOT16_FIRST NNCC_DOT16_5
#elif NNCC_DOT_VECTORS == 6
#define NNCC_DOT16_ROW NNCC_DOT16_FIRST NNCC_DOT16_5 NNCC_DOT16_MORE
#elif NNCC_DOT_VECTORS == 7
#define NNCC_DOT16_ROW NNCC_DOT16_FIRST NNCC_DOT16_5 NNCC_DOT16_3
#elif NNCC_DOT_VECTORS == 8
#define NNCC_DOT16_ROW NNCC_DOT16_FIRST NNCC_DOT16_5 NNCC_DOT16_4
#else
#define NNCC_DOT16_ROW NNCC_DOT16_FIRST NNCC_DOT16_5 NNCC_DOT16_5
#endif

/* Where no loop counts in r9 the second row is there, and outputs, which want a lower register, are in r5. */
#define NNCC_DOT16_STORE(y) "vstrh.32 q0,[" y "]\nadd " y "," y ",r0\nvstrh.32 q1,[" y "]\nadd " y "," y ",r0\n"
#define NNCC_DOT16_ROWS [x0] "+r"(x0), [x1] "+r"(x1), [w] "+r"(w)
#ifdef NNCC_DOT_BY
#define NNCC_DOT16_Y "ldr r6,[%[f],#28]\n"
#define NNCC_DOT16_STORED NNCC_DOT16_STORE("r6") "str r6,[%[f],#28]\n"
#define NNCC_DOT16_KEPT NNCC_DOT16_ROWS
#define NNCC_DOT16_COUNT "r9",
#else
#define NNCC_DOT16_Y
#define NNCC_DOT16_STORED NNCC_DOT16_STORE("%[to]")
#define NNCC_DOT16_KEPT NNCC_DOT16_ROWS, [to] "+r"(to)
#define NNCC_DOT16_COUNT
#endif

static void nncc_dot16_pairs(nncc_dot16_frame *f, const int8_t *x, const int8_t *record, int8_t *y)
{
    NNCC_REG(const int8_t *, x0, "r1", x);
    NNCC_REG(const int8_t *, w, "r3", record);
#ifdef NNCC_DOT_BY
    NNCC_REG(const int8_t *, x1, "r5", x + f->step);
#else
    NNCC_REG(const int8_t *, x1, "r9", x + f->step);
    NNCC_REG(int8_t *, to, "r5", y);
#endif
    NNCC_REG(nncc_dot16_frame *, frame, "r11", f);

    f->y = y;
    /* clang-format off */
    __asm volatile("vldrw.32 q5,[%[w]],#16\n"
                   "vldrw.32 q6,[%[w]],#16\n"
                   "vldrw.32 q7,[%[w]],#16\n"
                   "ldrd r0,r2,[%[f],#8]\n"
                   "vdup.32 q3,r0\n"
                   "vdup.32 q4,r2\n"
                   "1:\n"
                   NNCC_DOT16_ROW
                   "vmov q0[2],q0[0],r0,r4\nvmov q0[3],q0[1],r2,r6\nvmov q1[2],q1[0],r8,r12\nvmov q1[3],q1[1],r10,lr\n"
                   "ldrd r0,r2,[%[f]]\n"
                   "ldrd r4,r6,[%[f],#16]\n"
                   NNCC_DOT16_OUTPUT(q0) NNCC_DOT16_OUTPUT(q1)
                   "sub %[w],%[w],r6\n"
                   NNCC_DOT16_Y
                   "add %[x0],%[x0],r4\n"
                   "add %[x1],%[x1],r4\n"
                   NNCC_DOT16_STORED
                   "cmp %[x0],r2\n"
                   "bne 1b\n"
                   : NNCC_DOT16_KEPT
                   : [f] "r"(frame)
                   : NNCC_DOT16_COUNT "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4",
                     "q5", "q6", "q7", "cc", "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

/*
 * Pointers are biased: GCC takes offsets of widening loads below 64 only, and moves a pointer to where the offset is 0.
 * So offsets reach 4 vectors of weights, after which the pointer moves.
 */
#define NNCC_DOT16_W_BIAS 60
#define NNCC_DOT16_X_BIAS 8
#define NNCC_DOT16_REACH 4

/* Vector k of both rows with the weights of 4 channels. */
#define NNCC_DOT16_BEGIN(sum, q, x) vmladavq_s16(q, x)
#define NNCC_DOT16_BOTH(op, k, c, a, b) \
    do { \
        const int16x8_t q = \
            vldrbq_s16(w + NNCC_RECORD16_VECTOR * ((k) % NNCC_DOT16_REACH) + 8 * (c)-NNCC_DOT16_W_BIAS); \
\
        a = op(a, q, u), b = op(b, q, v); \
    } while (0)
#define NNCC_DOT16_AT(op, k) \
    do { \
        const int16x8_t u = nncc_inputs16(x0 + NNCC_HELIUM_BYTES * (k)-NNCC_DOT16_X_BIAS); \
        const int16x8_t v = nncc_inputs16(x1 + NNCC_HELIUM_BYTES * (k)-NNCC_DOT16_X_BIAS); \
\
        NNCC_DOT16_BOTH(op, k, 0, a0, b0); \
        NNCC_DOT16_BOTH(op, k, 1, a1, b1); \
        NNCC_DOT16_BOTH(op, k, 2, a2, b2); \
        NNCC_DOT16_BOTH(op, k, 3, a3, b3); \
    } while (0)

/* The vectors from number 3 to n - 1 of a row, or of a turn; n is a constant. */
#define NNCC_DOT16_FROM3(n) \
    do { \
        if ((n) > 3) { \
            NNCC_DOT16_AT(vmladavaq_s16, 3); \
        } \
        if ((n) > NNCC_DOT16_REACH) { \
            w += NNCC_RECORD16_VECTOR * NNCC_DOT16_REACH; \
            NNCC_DOT16_AT(vmladavaq_s16, 4); \
        } \
        if ((n) > 5) { \
            NNCC_DOT16_AT(vmladavaq_s16, 5); \
        } \
        if ((n) > 6) { \
            NNCC_DOT16_AT(vmladavaq_s16, 6); \
        } \
        if ((n) > 7) { \
            NNCC_DOT16_AT(vmladavaq_s16, 7); \
        } \
        if ((n) > 2 * NNCC_DOT16_REACH) { \
            w += NNCC_RECORD16_VECTOR * NNCC_DOT16_REACH; \
            NNCC_DOT16_AT(vmladavaq_s16, 8); \
        } \
    } while (0)

/* The first n vectors; FIRST is for number 0. */
#define NNCC_DOT16_VECTORS(first, n) \
    do { \
        NNCC_DOT16_AT(first, 0); \
        if ((n) > 1) { \
            NNCC_DOT16_AT(vmladavaq_s16, 1); \
        } \
        if ((n) > 2) { \
            NNCC_DOT16_AT(vmladavaq_s16, 2); \
        } \
        NNCC_DOT16_FROM3(n); \
    } while (0)

#ifdef NNCC_DOT_BY
#define NNCC_DOT16_TURN(first) \
    do { \
        NNCC_DOT16_VECTORS(first, NNCC_DOT_BY); \
        w += NNCC_RECORD16_VECTOR * (NNCC_DOT_BY > NNCC_DOT16_REACH ? NNCC_DOT_BY - NNCC_DOT16_REACH : NNCC_DOT_BY); \
        x0 += NNCC_HELIUM_BYTES * NNCC_DOT_BY; \
        x1 += NNCC_HELIUM_BYTES * NNCC_DOT_BY; \
    } while (0)
#endif

/*
 * What is volatile stays on the stack: sums have the even registers, and what remains of the lower half, where weights'
 * pointer has to be, must not hold anything else.
 */
NNCC_IN_ORDER static void nncc_dot16_pairs(nncc_dot16_frame *f, const int8_t *x, const int8_t *record, int8_t *y)
{
    const int8_t *volatile const weights = record + NNCC_RECORD16_HEAD + NNCC_DOT16_W_BIAS;
    const int8_t *volatile const end = f->end + NNCC_DOT16_X_BIAS;
    volatile const int32_t pitch = f->pitch;
    int8_t *volatile to = y;
    const int8_t *x0 = x + NNCC_DOT16_X_BIAS, *x1 = x0 + f->step;
#ifdef NNCC_DOT_BY
    const int8_t *volatile const weights_end = weights + f->weights;
    volatile const int32_t next = f->next;
#else
    volatile const int32_t next = f->next + NNCC_HELIUM_BYTES * NNCC_DOT_VECTORS;
#endif
    NNCC_DOT16_HEAD(f, record);

    do {
        const int8_t *w = weights;
        int32_t a0, a1, a2, a3, b0, b1, b2, b3, step;
        int8_t *out;

#ifdef NNCC_DOT_BY
        NNCC_DOT16_TURN(NNCC_DOT16_BEGIN);
        do {
            NNCC_DOT16_TURN(vmladavaq_s16);
        } while (w != weights_end);
#else
        NNCC_DOT16_VECTORS(NNCC_DOT16_BEGIN, NNCC_DOT_VECTORS);
#endif
        out = to;
        step = pitch;
        NNCC_DOT16_OUTPUT(nncc_four(a0, a1, a2, a3), out);
        out += step;
        NNCC_DOT16_OUTPUT(nncc_four(b0, b1, b2, b3), out);
        to = out + step;
        step = next;
        x0 += step;
        x1 += step;
    } while (x0 != end);
}

#else

static void nncc_dot16_pairs(nncc_dot16_frame *f, const int8_t *x, const int8_t *record, int8_t *y)
{
    nncc_helium_matmul_params p;
    int32_t r;

    p.act_min = f->act_min;
    p.act_max = f->act_max;
    for (r = 0; r < 2 * f->pairs; r++) {
        nncc_record16_row(&p, x + r * f->step, 8 * f->vectors, record, y + r * f->pitch);
    }
}

#endif

/* All records over all rows, as nncc_dot_rows has them. */
static inline void nncc_dot16_rows(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                                   int32_t rows)
{
    const int32_t record = nncc_record16_bytes(p->vectors);
    const int8_t *at = packed;
    nncc_dot16_frame f;
    int32_t c;

    f.pitch = p->pitch;
    f.act_min = p->act_min;
    f.act_max = p->act_max;
    f.next = 2 * p->step - NNCC_HELIUM_BYTES * p->vectors;
    f.weights = NNCC_RECORD16_VECTOR * p->vectors;
#ifdef NNCC_DOT_BY
    f.more = p->vectors / NNCC_DOT_BY - 1;
#else
    f.more = 0;
#endif
    f.vectors = p->vectors;
    f.step = p->step;
    f.pairs = p->channels < 4 || rows <= p->single ? 0 : (rows - p->single) / 2;
    f.end = x + 2 * f.pairs * p->step;
    if (f.pairs > 0) {
        for (c = 0; c < p->channels; c += 4) {
            nncc_dot16_pairs(&f, x, at, y + 2 * (c + 4 <= p->channels ? c : p->channels - 4));
            at += record;
        }
    }
    if (rows > 2 * f.pairs) {
        nncc_helium_matmul_1row_s16(p, x + 2 * f.pairs * p->step, packed, y + 2 * f.pairs * p->pitch,
                                    rows - 2 * f.pairs);
    }
}

#endif

#endif /* NNCC_HELIUM_MATMUL_S16_H */
