/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_matmul_upper_unroll.h: the body of nncc_helium_matmul_unroll<n>_upper*_s8: 2 rows x 4 channels, a loop
 * over n vectors of a row at a time, one rounding. An including file defines NNCC_DOT_BY (3 to 5) and NNCC_UPPER_RELU;
 * a row has at least twice as many vectors, and nothing is loaded behind its end.
 */
#ifndef NNCC_HELIUM_MATMUL_UPPER_UNROLL_H
#define NNCC_HELIUM_MATMUL_UPPER_UNROLL_H

#include "nncc_helium_upper.h"

/* What pairs of rows share; the assembly has the offsets. */
typedef struct
{
    int32_t scale;  /* 0: what sums are multiplied by */
    int32_t offset; /* 4 */
    int8_t *y;      /* 8 */
    int32_t pairs;  /* 12: at least 1 */
    int32_t pitch;  /* 16 */
    int32_t bytes;  /* 20: of the weights of a record */
    int32_t next;   /* 24: bytes from behind a row to the next but one */
    int32_t more;   /* 28: turns of the loop after the first NNCC_DOT_BY vectors */
} nncc_upper_loop;

#if NNCC_HELIUM_ASM

#define NNCC_UPPER_MACS(op) \
    op " r0,q2,q0\nvldrb.8 q1,[%[x1]],#16\n" op " r8,q2,q1\nvldrw.32 q6,[%[w]],#16\n" op " r2,q6,q0\n" op \
       " r10,q6,q1\nvldrw.32 q2,[%[w]],#16\n" op " r4,q2,q0\n" op " r12,q2,q1\nvldrw.32 q6,[%[w]],#16\n" op \
       " r6,q6,q0\n" op " lr,q6,q1\n"
#define NNCC_UPPER_STEP "vldrb.8 q0,[%[x0]],#16\nvldrw.32 q2,[%[w]],#16\n" NNCC_UPPER_MACS("vmladava.s8")
/* The first vector of a row, of which some weights stay in registers. */
#if NNCC_UPPER_RELU
#define NNCC_UPPER_KEEP "vldrw.32 q3,[%[w],#16]\nvldrw.32 q4,[%[w],#32]\nvldrw.32 q7,[%[w],#48]\n"
#define NNCC_UPPER_LOAD3 ""
#define NNCC_UPPER_W3 "q7"
#define NNCC_UPPER_BIAS "[%[w],#-48]"
#define NNCC_UPPER_MULT "[%[w],#-32]"
#else
#define NNCC_UPPER_KEEP "vldrw.32 q3,[%[w],#16]\nvldrw.32 q4,[%[w],#32]\nvldrw.32 q7,[%[w],#-32]\n"
#define NNCC_UPPER_LOAD3 "vldrw.32 q6,[%[w],#-16]\n"
#define NNCC_UPPER_W3 "q6"
#define NNCC_UPPER_BIAS "[%[w],#-64]"
#define NNCC_UPPER_MULT "[%[w],#-48]"
#endif
#define NNCC_UPPER_FIRST \
    "vldrb.8 q0,[%[x0]],#16\nvmladav.s8 r2,q3,q0\nvldrb.8 q1,[%[x1]],#16\nvmladav.s8 r10,q3,q1\n" \
    "vldrw.32 q2,[%[w]],#64\nvmladav.s8 r4,q4,q0\nvmladav.s8 r12,q4,q1\n" NNCC_UPPER_LOAD3 \
    "vmladav.s8 r0,q2,q0\nvmladav.s8 r8,q2,q1\n" \
    "vmladav.s8 r6," NNCC_UPPER_W3 ",q0\nvmladav.s8 lr," NNCC_UPPER_W3 ",q1\n"
#if NNCC_DOT_BY == 3
#define NNCC_UPPER_REST NNCC_UPPER_STEP NNCC_UPPER_STEP
#elif NNCC_DOT_BY == 4
#define NNCC_UPPER_REST NNCC_UPPER_STEP NNCC_UPPER_STEP NNCC_UPPER_STEP
#else
#define NNCC_UPPER_REST NNCC_UPPER_STEP NNCC_UPPER_STEP NNCC_UPPER_STEP NNCC_UPPER_STEP
#endif

static void nncc_upper_pairs(nncc_upper_loop *f, const int8_t *x, int32_t step, const int8_t *record)
{
    NNCC_REG(const int8_t *, x0, "r1", x);
    NNCC_REG(const int8_t *, w, "r3", record + NNCC_UPPER_HEAD);
    NNCC_REG(const int8_t *, x1, "r5", x + step);
    NNCC_REG(int32_t, turns, "r9", 0);
    NNCC_REG(nncc_upper_loop *, frame, "r11", f);

    /* clang-format off */
    __asm volatile("vldrw.32 q5," NNCC_UPPER_MULT "\n"
                   NNCC_UPPER_KEEP
                   "1:\n"
                   "ldr %[k],[%[f],#28]\n"
                   NNCC_UPPER_FIRST
                   NNCC_UPPER_REST
                   "2:\n"
                   NNCC_UPPER_STEP
                   NNCC_UPPER_REST
                   "subs %[k],%[k],#1\n"
                   "bne 2b\n"
                   NNCC_UPPER_LANES
                   "ldm %[f],{r0,r2,r4,r6,r8,r10,r12}\n"
                   "sub %[w],%[w],r10\n"
                   NNCC_UPPER_RESULTS(NNCC_UPPER_BIAS, "add %[x0],%[x0],r12\n", "add %[x1],%[x1],r12\n", "",
                                      "subs r6,r6,#1\n")
                   "vstrb.32 q0,[r4]\n"
                   "add r4,r4,r8\n"
                   "vstrb.32 q1,[r4]\n"
                   "add r4,r4,r8\n"
                   "strd r4,r6,[%[f],#8]\n"
                   "bne 1b\n"
                   : [x0] "+r"(x0), [x1] "+r"(x1), [w] "+r"(w), [k] "+r"(turns)
                   : [f] "r"(frame)
                   : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6",
                     "q7", "cc", "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

/* A vector of both rows with the weights of 4 channels. */
#define NNCC_UPPER_STEP(op, k) \
    do { \
        const int8x16_t u = vldrbq_s8(x0 + 16 * (k)), v = vldrbq_s8(x1 + 16 * (k)); \
        int8x16_t q = nncc_weights(w + 64 * (k)); \
\
        a0 = op(a0, q, u), b0 = op(b0, q, v); \
        q = nncc_weights(w + 64 * (k) + 16); \
        a1 = op(a1, q, u), b1 = op(b1, q, v); \
        q = nncc_weights(w + 64 * (k) + 32); \
        a2 = op(a2, q, u), b2 = op(b2, q, v); \
        q = nncc_weights(w + 64 * (k) + 48); \
        a3 = op(a3, q, u), b3 = op(b3, q, v); \
    } while (0)
#if NNCC_DOT_BY == 3
#define NNCC_UPPER_REST
#elif NNCC_DOT_BY == 4
#define NNCC_UPPER_REST NNCC_UPPER_STEP(vmladavaq_s8, 3)
#else
#define NNCC_UPPER_REST \
    NNCC_UPPER_STEP(vmladavaq_s8, 3); \
    NNCC_UPPER_STEP(vmladavaq_s8, 4)
#endif

/* What is volatile is loaded where it is used: sums fill the registers, and compilers would store those instead. */
NNCC_MVE_IN_ORDER static void nncc_upper_pairs(nncc_upper_loop *f, const int8_t *x, int32_t step, const int8_t *record)
{
    volatile nncc_upper_loop *const live = f;
    const int8_t *volatile const weights = record + NNCC_UPPER_HEAD;
    const int8_t *volatile const end = weights + f->bytes;
    const int8_t *x0 = x, *x1 = x + step;
    int32_t left;

    do {
        const int8_t *w = weights;
        int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
        int32x4_t s;
        int8_t *y;

        do {
            NNCC_UPPER_STEP(vmladavaq_s8, 0);
            NNCC_UPPER_STEP(vmladavaq_s8, 1);
            NNCC_UPPER_STEP(vmladavaq_s8, 2);
            NNCC_UPPER_REST;
            w += 64 * NNCC_DOT_BY;
            x0 += 16 * NNCC_DOT_BY;
            x1 += 16 * NNCC_DOT_BY;
        } while (w != end);
        {
            const int32_t scale = live->scale, offset = live->offset;

            s = NNCC_UPPER_ROWS(weights - NNCC_UPPER_HEAD, nncc_four(a0, a1, a2, a3), nncc_four(b0, b1, b2, b3));
        }
        y = live->y;
        vstrbq_s32(y, s);
        y += live->pitch;
        vstrbq_s32(y, vshrq_n_s32(s, 16));
        live->y = y + live->pitch;
        x0 += live->next;
        x1 += live->next;
        left = live->pairs - 1;
        live->pairs = left;
    } while (left != 0);
}

#else

static void nncc_upper_pairs(nncc_upper_loop *f, const int8_t *x, int32_t step, const int8_t *record)
{
    const int32_t depth = f->bytes / 4;
    int32_t k;

    for (k = 0; k < f->pairs; k++) {
        nncc_upper_row(x, depth, record, f->y);
        nncc_upper_row(x + step, depth, record, f->y + f->pitch);
        f->y += 2 * f->pitch;
        x += depth + f->next;
    }
}

#endif

static inline void nncc_upper_records(const nncc_helium_matmul_params *p, nncc_upper_loop *f, const int8_t *x,
                                      int32_t step, const int8_t *packed, int8_t *y, int32_t pairs)
{
    int32_t c;

    for (c = 0; c < p->channels; c += 4) {
        memcpy(f, packed + NNCC_UPPER_SCALARS, 2 * sizeof(int32_t));
        f->y = y + (c + 4 <= p->channels ? c : p->channels - 4);
        f->pairs = pairs;
        nncc_upper_pairs(f, x, step, packed);
        packed += NNCC_UPPER_HEAD + f->bytes;
    }
}

/* Rows by pairs; an odd one is its own neighbour. */
static inline void nncc_upper_rows(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                                   int32_t rows)
{
    const int32_t even = rows & ~1;
    nncc_upper_loop f;

    f.pitch = p->pitch;
    f.bytes = 4 * NNCC_HELIUM_BYTES * p->vectors;
    f.next = 2 * p->step - NNCC_HELIUM_BYTES * p->vectors;
    f.more = p->vectors / NNCC_DOT_BY - 1;
    if (even > 0) {
        nncc_upper_records(p, &f, x, p->step, packed, y, even / 2);
    }
    if (even < rows) {
        f.pitch = 0;
        nncc_upper_records(p, &f, x + even * p->step, 0, packed, y + even * p->pitch, 1);
    }
}

#endif /* NNCC_HELIUM_MATMUL_UPPER_UNROLL_H */
