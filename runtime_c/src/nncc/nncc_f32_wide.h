/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_wide.h: packed float32 products of records of 8 output channels, one after the other, of NNCC_F32_PIXELS
 * pixels. Instructions of the inner loops: Helium 19 for 48 products; FPU 72 for 64, in C 130 for 96 by GCC. A record
 * takes about 55 and 30 more.
 */
#ifndef NNCC_F32_WIDE_H
#define NNCC_F32_WIDE_H

#include "nncc_f32_block.h"

#if NNCC_F32_MVE_ASM

/* clang-format off */
#define NNCC_F32_LIMIT6(limit, x) limit("q0", x) limit("q1", x) limit("q2", x) limit("q3", x) limit("q4", x) limit("q5", x)

/* Two inputs of 3 pixels times 8 channels, and one. */
#define NNCC_F32_TWO_OF_3 \
    "ldrd %[s], %[s0], [%[x0]], #8\n" \
    "vldrw.32 q6, [%[w]], #16\n" \
    "vfma.f32 q0, q6, %[s]\n" \
    "vldrw.32 q7, [%[w]], #16\n" \
    "vfma.f32 q1, q7, %[s]\n" \
    "ldrd %[s], %[s1], [%[x1]], #8\n" \
    "vfma.f32 q2, q6, %[s]\n" \
    "vfma.f32 q3, q7, %[s]\n" \
    "ldrd %[s], %[s2], [%[x2]], #8\n" \
    "vfma.f32 q4, q6, %[s]\n" \
    "vldrw.32 q6, [%[w]], #16\n" \
    "vfma.f32 q5, q7, %[s]\n" \
    "vldrw.32 q7, [%[w]], #16\n" \
    "vfma.f32 q0, q6, %[s0]\n" \
    "vfma.f32 q2, q6, %[s1]\n" \
    "vfma.f32 q4, q6, %[s2]\n" \
    "vfma.f32 q1, q7, %[s0]\n" \
    "vfma.f32 q3, q7, %[s1]\n" \
    "vfma.f32 q5, q7, %[s2]\n"
#define NNCC_F32_ONE_OF_3 \
    "ldr %[s0], [%[x0]], #4\n" \
    "vldrw.32 q6, [%[w]], #16\n" \
    "vfma.f32 q0, q6, %[s0]\n" \
    "vldrw.32 q7, [%[w]], #16\n" \
    "vfma.f32 q1, q7, %[s0]\n" \
    "ldr %[s1], [%[x1]], #4\n" \
    "vfma.f32 q2, q6, %[s1]\n" \
    "vfma.f32 q3, q7, %[s1]\n" \
    "ldr %[s2], [%[x2]], #4\n" \
    "vfma.f32 q4, q6, %[s2]\n" \
    "vfma.f32 q5, q7, %[s2]\n"

/* Records of 8 channels of 3 pixels: their number and where the results go is in the job. */
static inline void nncc_f32_records(nncc_f32_job *t, const float *w, const float *const *x)
{
    const float *x0 = x[0];
    const float *x1 = x[1];
    const float *x2 = x[2];
    int32_t rows;
    int32_t s;
    int32_t s0;
    int32_t s1;
    int32_t s2;

    __asm volatile("7:\n"
                   "vldrw.32 q0, [%[w]], #16\n"
                   "ldr %[s], [%[t], #44]\n"
                   "vldrw.32 q1, [%[w]], #16\n"
                   "vmov q2, q0\n"
                   "add %[w], %[w], %[s], lsl #5\n"
                   "vmov q3, q1\n"
                   "ldr %[s], [%[t], #20]\n"
                   "vmov q4, q0\n"
                   "str %[s], [%[t], #56]\n"
                   "vmov q5, q1\n"
                   "5:\n"
                   "ldr %[rows], [%[t], #16]\n"
                   "2:\n"
                   "ldr %[s], [%[t]]\n"
                   "wls lr, %[s], 3f\n"
                   "1:\n"
                   NNCC_F32_TWO_OF_3
                   "le lr, 1b\n"
                   "3:\n"
                   "ldr %[s], [%[t], #4]\n"
                   "cbz %[s], 4f\n"
                   NNCC_F32_ONE_OF_3
                   "4:\n"
                   "subs %[rows], #1\n"
                   "beq 8f\n"
                   "ldrd %[s], %[s0], [%[t], #8]\n"
                   "add %[x0], %[s]\n"
                   "add %[x1], %[s]\n"
                   "add %[x2], %[s]\n"
                   "add %[w], %[s0]\n"
                   "b 2b\n"
                   "8:\n"
                   "ldr %[s], [%[t], #56]\n"
                   "subs %[s], #1\n"
                   "beq 9f\n"
                   "str %[s], [%[t], #56]\n"
                   "ldrd %[s], %[s0], [%[t], #80]\n"
                   "add %[x0], %[s]\n"
                   "add %[x1], %[s]\n"
                   "add %[x2], %[s]\n"
                   "add %[w], %[s0]\n"
                   "b 5b\n"
                   "9:\n"
                   "ldrd %[s], %[s0], [%[t], #72]\n"
                   "sub %[x0], %[s]\n"
                   "sub %[x1], %[s]\n"
                   "sub %[x2], %[s]\n"
                   "add %[w], %[s0]\n"
                   "ldr %[s], [%[t], #32]\n"
                   "cbz %[s], 6f\n"
                   "ldrd %[s0], %[s1], [%[t], #36]\n"
                   "vdup.32 q6, %[s0]\n"
                   NNCC_F32_LIMIT6(NNCC_F32_BELOW_MVE, "q6")
                   "cmp %[s], #1\n"
                   "beq 6f\n"
                   NNCC_F32_LIMIT6(NNCC_F32_ABOVE_MVE, "%[s1]")
                   "6:\n"
                   "ldrd %[s0], %[s1], [%[t], #60]\n"
                   "ldr %[s2], [%[t], #68]\n"
                   "vstrw.32 q0, [%[s0]], #16\n"
                   "vstrw.32 q1, [%[s0]], #16\n"
                   "vstrw.32 q2, [%[s1]], #16\n"
                   "vstrw.32 q3, [%[s1]], #16\n"
                   "vstrw.32 q4, [%[s2]], #16\n"
                   "vstrw.32 q5, [%[s2]], #16\n"
                   "ldr %[s], [%[t], #52]\n"
                   "strd %[s0], %[s1], [%[t], #60]\n"
                   "str %[s2], [%[t], #68]\n"
                   "subs %[s], #1\n"
                   "str %[s], [%[t], #52]\n"
                   "bne 7b\n"
                   : [s] "=&l"(s), [s0] "=&r"(s0), [s1] "=&r"(s1), [s2] "=&r"(s2), [w] "+r"(w), [x0] "+r"(x0),
                     [x1] "+r"(x1), [x2] "+r"(x2), [rows] "=&r"(rows)
                   : [t] "r"(t)
                   : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
}
/* clang-format on */

#elif NNCC_F32_MVE

/* The results of pixel i, and where the next ones go. */
#define NNCC_F32_PUT(i, a, b) \
    do { \
        float *const to = t->y[i]; \
\
        vstrwq_f32(to, a); \
        vstrwq_f32(to + NNCC_F32_NARROW, b); \
        t->y[i] = to + NNCC_F32_WIDE; \
    } while (0)

/* Records of 8 channels of 3 pixels: their number and where the results go is in the job. */
NNCC_F32_IN_ORDER static void nncc_f32_records(nncc_f32_job *t, const float *w, const float *const *x)
{
    for (int32_t left = t->left; left > 0; left--) {
        float32x4_t a0 = vldrwq_f32(w), b0 = vldrwq_f32(w + NNCC_F32_NARROW);
        float32x4_t a1 = a0, a2 = a0, b1 = b0, b2 = b0;
        const float *x0 = x[0], *x1 = x[1], *x2 = x[2];

        w += NNCC_F32_WIDE * (1 + t->first) - NNCC_F32_W_BIAS;
        NNCC_F32_ALL(NNCC_F32_OF8, 3, NNCC_F32_WIDE);
        w = nncc_f32_bytes(w + NNCC_F32_W_BIAS, t->w_end);
        if (t->limits != NNCC_F32_NO_LIMIT) {
            nncc_f32_limit(t, &a0, &b0);
            nncc_f32_limit(t, &a1, &b1);
            nncc_f32_limit(t, &a2, &b2);
        }
        NNCC_F32_PUT(0, a0, b0);
        NNCC_F32_PUT(1, a1, b1);
        NNCC_F32_PUT(2, a2, b2);
    }
}

#elif NNCC_F32_FPU_ASM

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Woverlength-strings" /* the text of the assembly */
#endif
/* clang-format off */
#define NNCC_F32_FMA8_SECOND(x) \
    NNCC_F32_FMA4("s8", "s9", "s10", "s11", "s16", "s17", "s18", "s19", x) \
    NNCC_F32_FMA4("s12", "s13", "s14", "s15", "s20", "s21", "s22", "s23", x)

/* Records of 8 channels of 2 pixels: their number and where the results go is in the job. */
static inline void nncc_f32_records(nncc_f32_job *t, const float *w, const float *const *x)
{
    const float *x0 = x[0];
    const float *x1 = x[1];
    float *y0 = t->y[0];
    float *y1 = t->y[1];
    int32_t left = t->left;
    int32_t c;
    int32_t rows;

    __asm volatile("7:\n"
                   "vldmia %[w], {s0-s7}\n"
                   "vldmia %[w]!, {s8-s15}\n"
                   "ldr %[c], [%[t], #44]\n"
                   "add %[w], %[w], %[c], lsl #5\n"
                   "ldr %[c], [%[t], #20]\n"
                   "str %[c], [%[t], #56]\n"
                   "5:\n"
                   "ldr %[rows], [%[t], #16]\n"
                   "2:\n"
                   "ldr %[c], [%[t]]\n"
                   "lsrs %[c], %[c], #1\n"
                   "beq 3f\n"
                   "1:\n"
                   "vldmia %[x0]!, {s24-s27}\n"
                   "vldmia %[x1]!, {s28-s31}\n"
                   NNCC_F32_WEIGHTS8
                   NNCC_F32_FMA8_FIRST("s24")
                   NNCC_F32_FMA8_SECOND("s28")
                   NNCC_F32_WEIGHTS8
                   NNCC_F32_FMA8_FIRST("s25")
                   NNCC_F32_FMA8_SECOND("s29")
                   NNCC_F32_WEIGHTS8
                   NNCC_F32_FMA8_FIRST("s26")
                   NNCC_F32_FMA8_SECOND("s30")
                   NNCC_F32_WEIGHTS8
                   NNCC_F32_FMA8_FIRST("s27")
                   NNCC_F32_FMA8_SECOND("s31")
                   "subs %[c], #1\n"
                   "bne 1b\n"
                   "3:\n"
                   "ldr %[c], [%[t], #88]\n"
                   "cmp %[c], #0\n"
                   "beq 4f\n"
                   "cmp %[c], #2\n"
                   "blo 10f\n"
                   "vldmia %[x0]!, {s24-s25}\n"
                   "vldmia %[x1]!, {s28-s29}\n"
                   NNCC_F32_WEIGHTS8
                   NNCC_F32_FMA8_FIRST("s24")
                   NNCC_F32_FMA8_SECOND("s28")
                   NNCC_F32_WEIGHTS8
                   NNCC_F32_FMA8_FIRST("s25")
                   NNCC_F32_FMA8_SECOND("s29")
                   "10:\n"
                   "tst %[c], #1\n"
                   "beq 4f\n"
                   "vldmia %[x0]!, {s24}\n"
                   "vldmia %[x1]!, {s28}\n"
                   NNCC_F32_WEIGHTS8
                   NNCC_F32_FMA8_FIRST("s24")
                   NNCC_F32_FMA8_SECOND("s28")
                   "4:\n"
                   "subs %[rows], #1\n"
                   "beq 8f\n"
                   "ldr %[c], [%[t], #8]\n"
                   "add %[x0], %[c]\n"
                   "add %[x1], %[c]\n"
                   "ldr %[c], [%[t], #12]\n"
                   "add %[w], %[c]\n"
                   "b 2b\n"
                   "8:\n"
                   "ldr %[c], [%[t], #56]\n"
                   "subs %[c], #1\n"
                   "beq 9f\n"
                   "str %[c], [%[t], #56]\n"
                   "ldr %[c], [%[t], #80]\n"
                   "add %[x0], %[c]\n"
                   "add %[x1], %[c]\n"
                   "ldr %[c], [%[t], #84]\n"
                   "add %[w], %[c]\n"
                   "b 5b\n"
                   "9:\n"
                   "ldr %[c], [%[t], #72]\n"
                   "sub %[x0], %[c]\n"
                   "sub %[x1], %[c]\n"
                   "ldr %[c], [%[t], #76]\n"
                   "add %[w], %[c]\n"
                   NNCC_F32_LIMIT(NNCC_F32_FIRST8(NNCC_F32_BELOW, "s24") NNCC_F32_SECOND8(NNCC_F32_BELOW, "s24"),
                                  NNCC_F32_FIRST8(NNCC_F32_ABOVE, "s24") NNCC_F32_SECOND8(NNCC_F32_ABOVE, "s24"))
                   "subs %[left], #1\n"
                   "vstmia %[y0]!, {s0-s7}\n"
                   "vstmia %[y1]!, {s8-s15}\n"
                   "bne 7b\n"
                   : [w] "+r"(w), [x0] "+r"(x0), [x1] "+r"(x1), [y0] "+r"(y0), [y1] "+r"(y1), [left] "+r"(left),
                     [c] "=&r"(c), [rows] "=&r"(rows)
                   : [t] "r"(t)
                   : NNCC_F32_CLOBBERS, "s28", "s29", "s30", "s31");
}
/* clang-format on */
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#elif NNCC_F32_FPU

/* The results of pixel i, and where the next ones go. */
#define NNCC_F32_PUT(i, a) \
    do { \
        float *const to = t->y[i]; \
\
        NNCC_F32_STORE8(to, a); \
        t->y[i] = to + NNCC_F32_WIDE; \
    } while (0)

/* Records of 8 channels of 3 pixels: their number and where the results go is in the job. */
NNCC_F32_IN_ORDER static void nncc_f32_records(nncc_f32_job *t, const float *w, const float *const *x)
{
    for (int32_t left = t->left; left > 0; left--) {
        NNCC_F32_BEGIN8(a, w);
        NNCC_F32_SAME8(b, a);
        NNCC_F32_SAME8(c, a);
        const float *x0 = x[0], *x1 = x[1], *x2 = x[2];

        w += NNCC_F32_WIDE * (1 + t->first) - NNCC_F32_W_BIAS;
        NNCC_F32_ALL(NNCC_F32_OF8, 3, NNCC_F32_WIDE);
        w = nncc_f32_bytes(w + NNCC_F32_W_BIAS, t->w_end);
        NNCC_F32_LIMIT(t, NNCC_F32_EACH8, a);
        NNCC_F32_LIMIT(t, NNCC_F32_EACH8, b);
        NNCC_F32_LIMIT(t, NNCC_F32_EACH8, c);
        NNCC_F32_PUT(0, a);
        NNCC_F32_PUT(1, b);
        NNCC_F32_PUT(2, c);
    }
}

#endif

/* As many records of 8 channels, from channel 0 on. */
static inline void nncc_f32_wide(nncc_f32_job *t, int32_t pixels, int32_t records, int32_t inputs, const float *w,
                                 const float *const *x, float *const *y)
{
#if NNCC_F32_MVE || NNCC_F32_FPU
    if (pixels > 1 && records > 0) {
        t->left = records;
        for (int32_t i = 0; i < pixels; i++) {
            t->y[i] = y[i];
        }
        nncc_f32_records(t, w, x);
        return;
    }
#endif
    for (int32_t r = 0; r < records; r++) {
        nncc_f32_block(t, NNCC_F32_WIDE, pixels, w + r * NNCC_F32_WIDE * inputs, x, y, r * NNCC_F32_WIDE,
                       NNCC_F32_WIDE);
    }
}

/* The last channels, less than 8: a record of 8 or 4. */
static inline void nncc_f32_rest(nncc_f32_job *t, int32_t pixels, int32_t live, int32_t inputs, const float *w,
                                 const float *const *x, float *const *y, int32_t oc)
{
    if (live > NNCC_F32_NARROW) {
        float acc[NNCC_F32_PIXELS][NNCC_F32_WIDE];
        float *to[NNCC_F32_PIXELS];

        for (int32_t i = 0; i < NNCC_F32_PIXELS; i++) {
            to[i] = acc[i];
        }
        nncc_f32_wide(t, pixels, 1, inputs, w, x, to);
        for (int32_t i = 0; i < pixels; i++) {
            nncc_f32_results(acc[i], live, y[i] + oc);
        }
    } else if (live > 0) {
        nncc_f32_block(t, NNCC_F32_NARROW, pixels, w, x, y, oc, live);
    }
}

#endif /* NNCC_F32_WIDE_H */
