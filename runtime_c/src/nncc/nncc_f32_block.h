/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_block.h: the inner functions of the packed float32 products: 8 output channels of a pixel, 4 of up to
 * NNCC_F32_PIXELS. Instructions of the inner loops: Helium 10 for 16 products (8 channels), 12 for 24 (4 of 3 pixels);
 * FPU 21 for 16, of either, in C by GCC 54 for 32 and 74 for 48 (4 of 3 pixels).
 */
#ifndef NNCC_F32_BLOCK_H
#define NNCC_F32_BLOCK_H

#include "nncc_f32_sums.h"
#include "nncc_f32_job.h"

#if NNCC_F32_MVE

#if NNCC_F32_MVE_ASM

/* clang-format off */
#define NNCC_F32_RUN(step) \
    "2:\n" \
    "ldr %[s], [%[t]]\n" \
    "wls lr, %[s], 3f\n" \
    "1:\n" \
    step \
    "le lr, 1b\n" \
    "3:\n" \
    "ldr %[s], [%[t], #4]\n" \
    "cmp %[s], #0\n" \
    "beq 4f\n"
#define NNCC_F32_NEXT(w_shift) \
    "ldr %[s], [%[t], #12]\n" \
    "add %[w], %[w], %[s]" w_shift "\n" \
    "subs %[rows], #1\n" \
    "bne 2b\n"
/* clang-format on */

/* 8 channels of a pixel. */
static inline void nncc_f32_block_8x1(const nncc_f32_job *t, const float *w, const float *x0, float *y, int32_t live)
{
    float32x4_t a0 = vldrwq_f32(w);
    float32x4_t b0 = vldrwq_f32(w + NNCC_F32_NARROW);

    w += NNCC_F32_WIDE * (1 + t->first);
    for (int32_t plane = t->planes; plane > 0; plane--) {
        float32x4_t k;
        float32x4_t l;
        int32_t rows = t->rows;
        int32_t s;
        int32_t s0;
        /* clang-format off */
        __asm volatile(NNCC_F32_RUN(
                       "ldrd %[s], %[s0], [%[x0]], #8\n"
                       "vldrw.32 %q[k], [%[w]], #16\n"
                       "vfma.f32 %q[a0], %q[k], %[s]\n"
                       "vldrw.32 %q[l], [%[w]], #16\n"
                       "vfma.f32 %q[b0], %q[l], %[s]\n"
                       "vldrw.32 %q[k], [%[w]], #16\n"
                       "vfma.f32 %q[a0], %q[k], %[s0]\n"
                       "vldrw.32 %q[l], [%[w]], #16\n"
                       "vfma.f32 %q[b0], %q[l], %[s0]\n")
                       "ldr %[s], [%[x0]], #4\n"
                       "vldrw.32 %q[k], [%[w]], #16\n"
                       "vfma.f32 %q[a0], %q[k], %[s]\n"
                       "vldrw.32 %q[l], [%[w]], #16\n"
                       "vfma.f32 %q[b0], %q[l], %[s]\n"
                       "4:\n"
                       "ldr %[s], [%[t], #8]\n"
                       "add %[x0], %[s]\n"
                       NNCC_F32_NEXT("")
                       : [a0] "+w"(a0), [b0] "+w"(b0), [k] "=&w"(k), [l] "=&w"(l), [s] "=&r"(s), [s0] "=&r"(s0),
                         [w] "+r"(w), [x0] "+r"(x0), [rows] "+r"(rows)
                       : [t] "r"(t)
                       : "lr", "cc", "memory");
        /* clang-format on */
        x0 = nncc_f32_bytes(x0, t->x_plane);
        w = nncc_f32_bytes(w, t->w_plane);
    }
    nncc_f32_store(t, a0, b0, live, y);
}

/* 4 channels of 3 pixels, or of one where they are the same. */
static inline void nncc_f32_block_4x3(const nncc_f32_job *t, const float *w, const float *const *x, float *const *y,
                                      int32_t oc, int32_t live)
{
    const float *x0 = x[0];
    const float *x1 = x[1];
    const float *x2 = x[2];
    float32x4_t a0 = vldrwq_f32(w);
    float32x4_t a1 = a0;
    float32x4_t a2 = a0;

    w += NNCC_F32_NARROW * (1 + t->first);
    for (int32_t plane = t->planes; plane > 0; plane--) {
        float32x4_t k;
        float32x4_t l;
        int32_t rows = t->rows;
        int32_t s;
        int32_t s0;
        int32_t s1;
        int32_t s2;
        /* clang-format off */
        __asm volatile(NNCC_F32_RUN(
                       "ldrd %[s], %[s0], [%[x0]], #8\n"
                       "vldrw.32 %q[k], [%[w]], #16\n"
                       "vfma.f32 %q[a0], %q[k], %[s]\n"
                       "vldrw.32 %q[l], [%[w]], #16\n"
                       "ldrd %[s], %[s1], [%[x1]], #8\n"
                       "vfma.f32 %q[a1], %q[k], %[s]\n"
                       "ldrd %[s], %[s2], [%[x2]], #8\n"
                       "vfma.f32 %q[a2], %q[k], %[s]\n"
                       "vfma.f32 %q[a0], %q[l], %[s0]\n"
                       "vfma.f32 %q[a1], %q[l], %[s1]\n"
                       "vfma.f32 %q[a2], %q[l], %[s2]\n")
                       "ldr %[s], [%[x0]], #4\n"
                       "vldrw.32 %q[k], [%[w]], #16\n"
                       "vfma.f32 %q[a0], %q[k], %[s]\n"
                       "ldr %[s], [%[x1]], #4\n"
                       "vfma.f32 %q[a1], %q[k], %[s]\n"
                       "ldr %[s], [%[x2]], #4\n"
                       "vfma.f32 %q[a2], %q[k], %[s]\n"
                       "4:\n"
                       "ldr %[s], [%[t], #8]\n"
                       "add %[x0], %[s]\n"
                       "add %[x1], %[s]\n"
                       "add %[x2], %[s]\n"
                       NNCC_F32_NEXT(", asr #1")
                       : [a0] "+w"(a0), [a1] "+w"(a1), [a2] "+w"(a2), [k] "=&w"(k), [l] "=&w"(l), [s] "=&r"(s),
                         [s0] "=&r"(s0), [s1] "=&r"(s1), [s2] "=&r"(s2), [w] "+r"(w), [x0] "+r"(x0), [x1] "+r"(x1),
                         [x2] "+r"(x2), [rows] "+r"(rows)
                       : [t] "r"(t)
                       : "lr", "cc", "memory");
        /* clang-format on */
        x0 = nncc_f32_bytes(x0, t->x_plane);
        x1 = nncc_f32_bytes(x1, t->x_plane);
        x2 = nncc_f32_bytes(x2, t->x_plane);
        w = nncc_f32_bytes(w, t->w_plane / 2);
    }
    nncc_f32_store(t, a0, a0, live, y[0] + oc);
    nncc_f32_store(t, a1, a1, live, y[1] + oc);
    nncc_f32_store(t, a2, a2, live, y[2] + oc);
}

static inline void nncc_f32_block_4x1(const nncc_f32_job *t, const float *w, const float *x0, float *y, int32_t live)
{
    float32x4_t a0 = vldrwq_f32(w);

    w += NNCC_F32_NARROW * (1 + t->first);
    for (int32_t plane = t->planes; plane > 0; plane--) {
        float32x4_t k;
        float32x4_t l;
        int32_t rows = t->rows;
        int32_t s;
        int32_t s0;
        /* clang-format off */
        __asm volatile(NNCC_F32_RUN(
                       "ldrd %[s], %[s0], [%[x0]], #8\n"
                       "vldrw.32 %q[k], [%[w]], #16\n"
                       "vfma.f32 %q[a0], %q[k], %[s]\n"
                       "vldrw.32 %q[l], [%[w]], #16\n"
                       "vfma.f32 %q[a0], %q[l], %[s0]\n")
                       "ldr %[s], [%[x0]], #4\n"
                       "vldrw.32 %q[k], [%[w]], #16\n"
                       "vfma.f32 %q[a0], %q[k], %[s]\n"
                       "4:\n"
                       "ldr %[s], [%[t], #8]\n"
                       "add %[x0], %[s]\n"
                       NNCC_F32_NEXT(", asr #1")
                       : [a0] "+w"(a0), [k] "=&w"(k), [l] "=&w"(l), [s] "=&r"(s), [s0] "=&r"(s0), [w] "+r"(w),
                         [x0] "+r"(x0), [rows] "+r"(rows)
                       : [t] "r"(t)
                       : "lr", "cc", "memory");
        /* clang-format on */
        x0 = nncc_f32_bytes(x0, t->x_plane);
        w = nncc_f32_bytes(w, t->w_plane / 2);
    }
    nncc_f32_store(t, a0, a0, live, y);
}

#else

/* 8 channels of a pixel. */
NNCC_F32_IN_ORDER static void nncc_f32_block_8x1(const nncc_f32_job *t, const float *w, const float *x0, float *y,
                                                 int32_t live)
{
    float32x4_t a0 = vldrwq_f32(w), b0 = vldrwq_f32(w + NNCC_F32_NARROW);

    w += NNCC_F32_WIDE * (1 + t->first) - NNCC_F32_W_BIAS;
    NNCC_F32_ALL(NNCC_F32_OF8X1, 1, NNCC_F32_WIDE);
    nncc_f32_store(t, a0, b0, live, y);
}

/* 4 channels of 3 pixels, or of one where they are the same. */
NNCC_F32_IN_ORDER static void nncc_f32_block_4x3(const nncc_f32_job *t, const float *w, const float *const *x,
                                                 float *const *y, int32_t oc, int32_t live)
{
    const float *x0 = x[0], *x1 = x[1], *x2 = x[2];
    float32x4_t a0 = vldrwq_f32(w), a1 = a0, a2 = a0;

    w += NNCC_F32_NARROW * (1 + t->first) - NNCC_F32_W_BIAS;
    NNCC_F32_ALL(NNCC_F32_OF4, 3, NNCC_F32_NARROW);
    nncc_f32_store(t, a0, a0, live, y[0] + oc);
    nncc_f32_store(t, a1, a1, live, y[1] + oc);
    nncc_f32_store(t, a2, a2, live, y[2] + oc);
}

NNCC_F32_IN_ORDER static void nncc_f32_block_4x1(const nncc_f32_job *t, const float *w, const float *x0, float *y,
                                                 int32_t live)
{
    float32x4_t a0 = vldrwq_f32(w);

    w += NNCC_F32_NARROW * (1 + t->first) - NNCC_F32_W_BIAS;
    NNCC_F32_ALL(NNCC_F32_OF4X1, 1, NNCC_F32_NARROW);
    nncc_f32_store(t, a0, a0, live, y);
}

#endif

static inline void nncc_f32_block(const nncc_f32_job *t, int32_t lanes, int32_t pixels, const float *w,
                                  const float *const *x, float *const *y, int32_t oc, int32_t live)
{
    if (lanes == NNCC_F32_WIDE) {
        nncc_f32_block_8x1(t, w, x[0], y[0] + oc, live);
    } else if (pixels > 1) {
        nncc_f32_block_4x3(t, w, x, y, oc, live);
    } else {
        nncc_f32_block_4x1(t, w, x[0], y[0] + oc, live);
    }
}

#elif NNCC_F32_FPU

#if NNCC_F32_FPU_ASM

/* clang-format off */
/* Weights and the products of one input of a pixel. */
#define NNCC_F32_WEIGHTS8 "vldmia %[w]!, {s16-s23}\n"
#define NNCC_F32_FMA4(a, b, c, d, k, l, m, n, x) \
    "vfma.f32 " a ", " k ", " x "\nvfma.f32 " b ", " l ", " x "\n" \
    "vfma.f32 " c ", " m ", " x "\nvfma.f32 " d ", " n ", " x "\n"
#define NNCC_F32_FMA8_FIRST(x) \
    NNCC_F32_FMA4("s0", "s1", "s2", "s3", "s16", "s17", "s18", "s19", x) \
    NNCC_F32_FMA4("s4", "s5", "s6", "s7", "s20", "s21", "s22", "s23", x)

/* All runs: `pair` does two inputs, `odd` one, `x_add` adds c to the pixels' addresses; shift halves weights' bytes. */
#define NNCC_F32_RUNS(pair, odd, x_add, shift) \
    "ldr %[planes], [%[t], #20]\n" \
    "5:\n" \
    "ldr %[rows], [%[t], #16]\n" \
    "2:\n" \
    "ldr %[c], [%[t]]\n" \
    "cmp %[c], #0\n" \
    "beq 3f\n" \
    "1:\n" \
    pair \
    "subs %[c], #1\n" \
    "bne 1b\n" \
    "3:\n" \
    "ldr %[c], [%[t], #4]\n" \
    "cmp %[c], #0\n" \
    "beq 4f\n" \
    odd \
    "4:\n" \
    "ldr %[c], [%[t], #8]\n" \
    x_add \
    "ldr %[c], [%[t], #12]\n" \
    "add %[w], %[w], %[c]" shift "\n" \
    "subs %[rows], #1\n" \
    "bne 2b\n" \
    "ldr %[c], [%[t], #24]\n" \
    x_add \
    "ldr %[c], [%[t], #28]\n" \
    "add %[w], %[w], %[c]" shift "\n" \
    "subs %[planes], #1\n" \
    "bne 5b\n"

/* 8 channels of a pixel, 4 of two or of one: w has the bias in front, results have room for all channels. */
static inline void nncc_f32_sum_8x1(const nncc_f32_job *t, const float *w, const float *x0, float *y0)
{
    int32_t c;
    int32_t rows;
    int32_t planes;
    __asm volatile("vldmia %[w]!, {s0-s7}\n"
                   "ldr %[c], [%[t], #44]\n"
                   "add %[w], %[w], %[c], lsl #5\n"
                   NNCC_F32_RUNS(
                       "vldmia %[x0]!, {s24-s25}\n"
                       NNCC_F32_WEIGHTS8
                       NNCC_F32_FMA8_FIRST("s24")
                       NNCC_F32_WEIGHTS8
                       NNCC_F32_FMA8_FIRST("s25"),
                       "vldmia %[x0]!, {s24}\n"
                       NNCC_F32_WEIGHTS8
                       NNCC_F32_FMA8_FIRST("s24"),
                       NNCC_F32_SKIP1, "")
                   NNCC_F32_LIMIT(NNCC_F32_FIRST8(NNCC_F32_BELOW, "s24"), NNCC_F32_FIRST8(NNCC_F32_ABOVE, "s24"))
                   "vstmia %[y0], {s0-s7}\n"
                   : [w] "+r"(w), [x0] "+r"(x0), [c] "=&r"(c), [rows] "=&r"(rows), [planes] "=&r"(planes)
                   : [t] "r"(t), [y0] "r"(y0)
                   : NNCC_F32_CLOBBERS);
}

#define NNCC_F32_FMA4_FIRST(k, l, m, n, x) NNCC_F32_FMA4("s0", "s1", "s2", "s3", k, l, m, n, x)
#define NNCC_F32_FMA4_SECOND(k, l, m, n, x) NNCC_F32_FMA4("s4", "s5", "s6", "s7", k, l, m, n, x)

static inline void nncc_f32_sum_4xn(const nncc_f32_job *t, const float *w, const float *const *x, float *const *y)
{
    const float *x0 = x[0];
    const float *x1 = x[1];
    float *y0 = y[0];
    float *y1 = y[1];
    int32_t c;
    int32_t rows;
    int32_t planes;
    __asm volatile("vldmia %[w], {s0-s3}\n"
                   "vldmia %[w]!, {s4-s7}\n"
                   "ldr %[c], [%[t], #44]\n"
                   "add %[w], %[w], %[c], lsl #4\n"
                   NNCC_F32_RUNS(
                       "vldmia %[x0]!, {s24-s25}\n"
                       "vldmia %[x1]!, {s26-s27}\n"
                       NNCC_F32_WEIGHTS8
                       NNCC_F32_FMA4_FIRST("s16", "s17", "s18", "s19", "s24")
                       NNCC_F32_FMA4_SECOND("s16", "s17", "s18", "s19", "s26")
                       NNCC_F32_FMA4_FIRST("s20", "s21", "s22", "s23", "s25")
                       NNCC_F32_FMA4_SECOND("s20", "s21", "s22", "s23", "s27"),
                       "vldmia %[x0]!, {s24}\n"
                       "vldmia %[x1]!, {s26}\n"
                       "vldmia %[w]!, {s16-s19}\n"
                       NNCC_F32_FMA4_FIRST("s16", "s17", "s18", "s19", "s24")
                       NNCC_F32_FMA4_SECOND("s16", "s17", "s18", "s19", "s26"),
                       NNCC_F32_SKIP2, ", asr #1")
                   NNCC_F32_LIMIT(NNCC_F32_FIRST8(NNCC_F32_BELOW, "s24"), NNCC_F32_FIRST8(NNCC_F32_ABOVE, "s24"))
                   "vstmia %[y0], {s0-s3}\n"
                   "vstmia %[y1], {s4-s7}\n"
                   : [w] "+r"(w), [x0] "+r"(x0), [x1] "+r"(x1), [c] "=&r"(c), [rows] "=&r"(rows),
                     [planes] "=&r"(planes)
                   : [t] "r"(t), [y0] "r"(y0), [y1] "r"(y1)
                   : NNCC_F32_CLOBBERS);
}

static inline void nncc_f32_sum_4x1(const nncc_f32_job *t, const float *w, const float *x0, float *y0)
{
    int32_t c;
    int32_t rows;
    int32_t planes;
    __asm volatile("vldmia %[w]!, {s0-s3}\n"
                   "ldr %[c], [%[t], #44]\n"
                   "add %[w], %[w], %[c], lsl #4\n"
                   NNCC_F32_RUNS(
                       "vldmia %[x0]!, {s24-s25}\n"
                       NNCC_F32_WEIGHTS8
                       NNCC_F32_FMA4_FIRST("s16", "s17", "s18", "s19", "s24")
                       NNCC_F32_FMA4_FIRST("s20", "s21", "s22", "s23", "s25"),
                       "vldmia %[x0]!, {s24}\n"
                       "vldmia %[w]!, {s16-s19}\n"
                       NNCC_F32_FMA4_FIRST("s16", "s17", "s18", "s19", "s24"),
                       NNCC_F32_SKIP1, ", asr #1")
                   NNCC_F32_LIMIT(NNCC_F32_FIRST4(NNCC_F32_BELOW, "s24"), NNCC_F32_FIRST4(NNCC_F32_ABOVE, "s24"))
                   "vstmia %[y0], {s0-s3}\n"
                   : [w] "+r"(w), [x0] "+r"(x0), [c] "=&r"(c), [rows] "=&r"(rows), [planes] "=&r"(planes)
                   : [t] "r"(t), [y0] "r"(y0)
                   : NNCC_F32_CLOBBERS);
}
/* clang-format on */

#else

/* 8 channels of a pixel, 4 of three or of one: w has the bias in front, results have room for all channels. */
NNCC_F32_IN_ORDER static void nncc_f32_sum_8x1(const nncc_f32_job *t, const float *w, const float *x0, float *y0)
{
    NNCC_F32_BEGIN8(a, w);

    w += NNCC_F32_WIDE * (1 + t->first) - NNCC_F32_W_BIAS;
    NNCC_F32_ALL(NNCC_F32_OF8X1, 1, NNCC_F32_WIDE);
    NNCC_F32_LIMIT(t, NNCC_F32_EACH8, a);
    NNCC_F32_STORE8(y0, a);
}

NNCC_F32_IN_ORDER static void nncc_f32_sum_4xn(const nncc_f32_job *t, const float *w, const float *const *x,
                                               float *const *y)
{
    const float *x0 = x[0], *x1 = x[1], *x2 = x[2];
    NNCC_F32_BEGIN4(a, w);
    NNCC_F32_SAME4(b, a);
    NNCC_F32_SAME4(c, a);

    w += NNCC_F32_NARROW * (1 + t->first) - NNCC_F32_W_BIAS;
    NNCC_F32_ALL(NNCC_F32_OF4, 3, NNCC_F32_NARROW);
    NNCC_F32_LIMIT(t, NNCC_F32_EACH4, a);
    NNCC_F32_LIMIT(t, NNCC_F32_EACH4, b);
    NNCC_F32_LIMIT(t, NNCC_F32_EACH4, c);
    NNCC_F32_STORE4(y[0], a);
    NNCC_F32_STORE4(y[1], b);
    NNCC_F32_STORE4(y[2], c);
}

NNCC_F32_IN_ORDER static void nncc_f32_sum_4x1(const nncc_f32_job *t, const float *w, const float *x0, float *y0)
{
    NNCC_F32_BEGIN4(a, w);

    w += NNCC_F32_NARROW * (1 + t->first) - NNCC_F32_W_BIAS;
    NNCC_F32_ALL(NNCC_F32_OF4X1, 1, NNCC_F32_NARROW);
    NNCC_F32_LIMIT(t, NNCC_F32_EACH4, a);
    NNCC_F32_STORE4(y0, a);
}

#endif

static inline void nncc_f32_block(const nncc_f32_job *t, int32_t lanes, int32_t pixels, const float *w,
                                  const float *const *x, float *const *y, int32_t oc, int32_t live)
{
    float acc[NNCC_F32_PIXELS][NNCC_F32_WIDE];
    float *to[NNCC_F32_PIXELS];

    for (int32_t j = 0; j < NNCC_F32_PIXELS; j++) {
        to[j] = j < pixels && live == lanes ? y[j] + oc : acc[j];
    }
    if (lanes == NNCC_F32_WIDE) {
        nncc_f32_sum_8x1(t, w, x[0], to[0]);
    } else if (pixels > 1) {
        nncc_f32_sum_4xn(t, w, x, to);
    } else {
        nncc_f32_sum_4x1(t, w, x[0], to[0]);
    }
    for (int32_t j = 0; j < pixels && live < lanes; j++) {
        nncc_f32_results(acc[j], live, y[j] + oc);
    }
}

#else

/* n inputs of a pixel. */
static inline void nncc_f32_run(float *acc, int32_t lanes, int32_t n, const float *w, const float *x)
{
    for (int32_t i = 0; i < n; i++) {
        for (int32_t l = 0; l < lanes; l++) {
            acc[l] = fmaf(w[i * lanes + l], x[i], acc[l]);
        }
    }
}

static inline void nncc_f32_block(const nncc_f32_job *t, int32_t lanes, int32_t pixels, const float *w,
                                  const float *const *x, float *const *y, int32_t oc, int32_t live)
{
    const int32_t size = (int32_t)sizeof(float);
    const int32_t n = 2 * t->steps + (t->odd != 0 ? 1 : 0);

    for (int32_t j = 0; j < pixels; j++) {
        float acc[NNCC_F32_WIDE];
        int32_t wi = lanes * (1 + t->first);
        int32_t xi = 0;

        nncc_f32_results(w, lanes, acc);
        for (int32_t plane = 0; plane < t->planes; plane++) {
            for (int32_t r = 0; r < t->rows; r++) {
                nncc_f32_run(acc, lanes, n, w + wi, x[j] + xi);
                wi += lanes * n + t->w_skip / size * lanes / NNCC_F32_WIDE;
                xi += n + t->x_skip / size;
            }
            wi += t->w_plane / size * lanes / NNCC_F32_WIDE;
            xi += t->x_plane / size;
        }
        for (int32_t l = 0; l < live; l++) {
            y[j][oc + l] = nncc_clamp_f32(acc[l], t->lo, t->hi);
        }
    }
}

#endif

#endif /* NNCC_F32_BLOCK_H */
