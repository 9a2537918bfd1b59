/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_channels.h: the inner function of the packed float32 depthwise products: 8 channels of up to
 * NNCC_F32_PIXELS pixels, or up to 4 of one.
 *
 * Instructions a MAC of the inner loops, 8 channels: Helium 18 for 24 (3 pixels), 8 for 8 (one); FPU 23 for 16 (2
 * pixels), 13 for 8 (one), in C by GCC 46 for 24 (3 pixels) and 20 for 8.
 */
#ifndef NNCC_F32_CHANNELS_H
#define NNCC_F32_CHANNELS_H

#include "nncc_f32_job.h"
#include "nncc_f32_sums.h"

#if NNCC_F32_MVE

#if NNCC_F32_MVE_ASM

/* clang-format off */
#define NNCC_F32_TAPS(step, x_next) \
    "2:\n" \
    "ldr %[s], [%[t]]\n" \
    "wls lr, %[s], 3f\n" \
    "1:\n" \
    step \
    "le lr, 1b\n" \
    "3:\n" \
    "ldr %[s], [%[t], #8]\n" \
    x_next \
    "ldr %[s], [%[t], #12]\n" \
    "add %[w], %[s]\n" \
    "subs %[rows], #1\n" \
    "bne 2b\n"

/* 8 channels of 3 pixels. */
static inline void nncc_f32_channels_8x3(const nncc_f32_job *t, const float *w, const float *const *x, float *const *y,
                                         int32_t c)
{
    const float *x0 = x[0] + c;
    const float *x1 = x[1] + c;
    const float *x2 = x[2] + c;
    float32x4_t a0 = vldrwq_f32(w);
    float32x4_t b0 = vldrwq_f32(w + NNCC_F32_NARROW);
    float32x4_t a1 = a0;
    float32x4_t a2 = a0;
    float32x4_t b1 = b0;
    float32x4_t b2 = b0;
    float32x4_t k;
    float32x4_t l;
    int32_t rows = t->rows;
    int32_t s;

    w += NNCC_F32_WIDE * (1 + t->first);
    __asm volatile(NNCC_F32_TAPS(
                   "vldrw.32 %q[k], [%[w]], #16\n"
                   "vldrw.32 %q[l], [%[x0]]\n"
                   "vfma.f32 %q[a0], %q[k], %q[l]\n"
                   "vldrw.32 %q[l], [%[x1]]\n"
                   "vfma.f32 %q[a1], %q[k], %q[l]\n"
                   "vldrw.32 %q[l], [%[x2]]\n"
                   "vfma.f32 %q[a2], %q[k], %q[l]\n"
                   "vldrw.32 %q[k], [%[w]], #16\n"
                   "vldrw.32 %q[l], [%[x0], #16]\n"
                   "vfma.f32 %q[b0], %q[k], %q[l]\n"
                   "vldrw.32 %q[l], [%[x1], #16]\n"
                   "add %[x0], %[across]\n"
                   "vfma.f32 %q[b1], %q[k], %q[l]\n"
                   "vldrw.32 %q[l], [%[x2], #16]\n"
                   "add %[x1], %[across]\n"
                   "vfma.f32 %q[b2], %q[k], %q[l]\n"
                   "add %[x2], %[across]\n",
                   "add %[x0], %[s]\n"
                   "add %[x1], %[s]\n"
                   "add %[x2], %[s]\n")
                   : [a0] "+w"(a0), [b0] "+w"(b0), [a1] "+w"(a1), [b1] "+w"(b1), [a2] "+w"(a2), [b2] "+w"(b2),
                     [k] "=&w"(k), [l] "=&w"(l), [s] "=&r"(s), [w] "+r"(w), [x0] "+r"(x0), [x1] "+r"(x1),
                     [x2] "+r"(x2), [rows] "+r"(rows)
                   : [t] "r"(t), [across] "r"(t->across)
                   : "lr", "cc", "memory");
    nncc_f32_store(t, a0, b0, NNCC_F32_WIDE, y[0] + c);
    nncc_f32_store(t, a1, b1, NNCC_F32_WIDE, y[1] + c);
    nncc_f32_store(t, a2, b2, NNCC_F32_WIDE, y[2] + c);
}

/* 8 channels of a pixel. */
static inline void nncc_f32_channels_8x1(const nncc_f32_job *t, const float *w, const float *x0, float *y)
{
    float32x4_t a0 = vldrwq_f32(w);
    float32x4_t b0 = vldrwq_f32(w + NNCC_F32_NARROW);
    float32x4_t k;
    float32x4_t l;
    int32_t rows = t->rows;
    int32_t s;

    w += NNCC_F32_WIDE * (1 + t->first);
    __asm volatile(NNCC_F32_TAPS(
                   "vldrw.32 %q[k], [%[w]], #16\n"
                   "vldrw.32 %q[l], [%[x0]]\n"
                   "vfma.f32 %q[a0], %q[k], %q[l]\n"
                   "vldrw.32 %q[k], [%[w]], #16\n"
                   "vldrw.32 %q[l], [%[x0], #16]\n"
                   "add %[x0], %[across]\n"
                   "vfma.f32 %q[b0], %q[k], %q[l]\n",
                   "add %[x0], %[s]\n")
                   : [a0] "+w"(a0), [b0] "+w"(b0), [k] "=&w"(k), [l] "=&w"(l), [s] "=&r"(s), [w] "+r"(w),
                     [x0] "+r"(x0), [rows] "+r"(rows)
                   : [t] "r"(t), [across] "r"(t->across)
                   : "lr", "cc", "memory");
    nncc_f32_store(t, a0, b0, NNCC_F32_WIDE, y);
}
/* clang-format on */

#else

/*
 * Pointers are biased by so many floats: GCC copies one of which the offset is 0, and moves the copy. Four channels
 * after four: there are eight vectors.
 */
#define NNCC_F32_BIAS 2
#define NNCC_F32_HALF(p, four) vldrwq_f32((p) + NNCC_F32_NARROW * (four)-NNCC_F32_BIAS)
#define NNCC_F32_TAPS(taps, skip) \
    do { \
        const int32_t across = t->across; \
        int32_t rows = t->rows; \
\
        w += NNCC_F32_WIDE * (1 + t->first) + NNCC_F32_BIAS; \
        do { \
            for (int32_t n = t->steps; n > 0; n--) { \
                float32x4_t k = NNCC_F32_HALF(w, 0); \
\
                taps; \
                w += NNCC_F32_WIDE; \
                skip(across); \
            } \
            skip(t->x_skip); \
            w = nncc_f32_bytes(w, t->w_skip); \
        } while (--rows > 0); \
    } while (0)

/* Depthwise: 8 channels of 3 pixels. */
NNCC_F32_IN_ORDER static void nncc_f32_channels_8x3(const nncc_f32_job *t, const float *w, const float *const *x,
                                                    float *const *y, int32_t c)
{
    const float *x0 = x[0] + c + NNCC_F32_BIAS, *x1 = x[1] + c + NNCC_F32_BIAS, *x2 = x[2] + c + NNCC_F32_BIAS;
    float32x4_t a0 = vldrwq_f32(w), b0 = vldrwq_f32(w + NNCC_F32_NARROW);
    float32x4_t a1 = a0, a2 = a0, b1 = b0, b2 = b0;

    NNCC_F32_TAPS(a0 = vfmaq_f32(a0, k, NNCC_F32_HALF(x0, 0)); a1 = vfmaq_f32(a1, k, NNCC_F32_HALF(x1, 0));
                  a2 = vfmaq_f32(a2, k, NNCC_F32_HALF(x2, 0)); NNCC_F32_NOW; k = NNCC_F32_HALF(w, 1);
                  b0 = vfmaq_f32(b0, k, NNCC_F32_HALF(x0, 1)); b1 = vfmaq_f32(b1, k, NNCC_F32_HALF(x1, 1));
                  b2 = vfmaq_f32(b2, k, NNCC_F32_HALF(x2, 1)), NNCC_F32_SKIP3);
    nncc_f32_store(t, a0, b0, NNCC_F32_WIDE, y[0] + c);
    nncc_f32_store(t, a1, b1, NNCC_F32_WIDE, y[1] + c);
    nncc_f32_store(t, a2, b2, NNCC_F32_WIDE, y[2] + c);
}

/* 8 channels of a pixel. */
NNCC_F32_IN_ORDER static void nncc_f32_channels_8x1(const nncc_f32_job *t, const float *w, const float *x0, float *y)
{
    float32x4_t a0 = vldrwq_f32(w), b0 = vldrwq_f32(w + NNCC_F32_NARROW);

    x0 += NNCC_F32_BIAS;
    NNCC_F32_TAPS(a0 = vfmaq_f32(a0, k, NNCC_F32_HALF(x0, 0)); k = NNCC_F32_HALF(w, 1);
                  b0 = vfmaq_f32(b0, k, NNCC_F32_HALF(x0, 1)), NNCC_F32_SKIP1);
    nncc_f32_store(t, a0, b0, NNCC_F32_WIDE, y);
}

#endif

static inline void nncc_f32_channels_wide(const nncc_f32_job *t, int32_t pixels, const float *w, const float *const *x,
                                          float *const *y, int32_t c)
{
    if (pixels > 1) {
        nncc_f32_channels_8x3(t, w, x, y, c);
    } else {
        nncc_f32_channels_8x1(t, w, x[0] + c, y[0] + c);
    }
}

/* live channels, at most 4, of a pixel. */
static inline void nncc_f32_channels_narrow(const nncc_f32_job *t, int32_t live, const float *w, const float *x,
                                            float *y)
{
    const mve_pred16_t some = vctp32q((uint32_t)live);
    float32x4_t acc = vldrwq_f32(w);

    w += NNCC_F32_NARROW * (1 + t->first);
    for (int32_t r = 0; r < t->rows; r++) {
        for (int32_t i = 0; i < t->steps; i++) {
            acc = vfmaq_f32(acc, vldrwq_z_f32(x, some), vldrwq_f32(w));
            x = nncc_f32_bytes(x, t->across);
            w += NNCC_F32_NARROW;
        }
        x = nncc_f32_bytes(x, t->x_skip);
        w = nncc_f32_bytes(w, t->w_skip / 2);
    }
    nncc_f32_store(t, acc, acc, live, y);
}

#else

/* lanes channels of a record, live of which there are, of a pixel. */
static inline void nncc_f32_channels_one(const nncc_f32_job *t, int32_t lanes, int32_t live, const float *w,
                                         const float *x, float *y)
{
    const int32_t size = (int32_t)sizeof(float);
    float acc[NNCC_F32_WIDE];
    int32_t wi = lanes * (1 + t->first);
    int32_t xi = 0;

    nncc_f32_results(w, lanes, acc);
    for (int32_t r = 0; r < t->rows; r++) {
        for (int32_t i = 0; i < t->steps; i++) {
            for (int32_t l = 0; l < live; l++) {
                acc[l] = fmaf(x[xi + l], w[wi + l], acc[l]);
            }
            xi += t->across / size;
            wi += lanes;
        }
        xi += t->x_skip / size;
        wi += t->w_skip / size * lanes / NNCC_F32_WIDE;
    }
    for (int32_t l = 0; l < live; l++) {
        y[l] = nncc_clamp_f32(acc[l], t->lo, t->hi);
    }
}

static inline void nncc_f32_channels_narrow(const nncc_f32_job *t, int32_t live, const float *w, const float *x,
                                            float *y)
{
    nncc_f32_channels_one(t, NNCC_F32_NARROW, live, w, x, y);
}

#if NNCC_F32_FPU_ASM

/* clang-format off */
#define NNCC_F32_INPUTS8(x) "vldmia %[" x "], {s24-s31}\n"
#define NNCC_F32_LANES4(a, b, c, d, k, l, m, n, x0, x1, x2, x3) \
    "vfma.f32 " a ", " k ", " x0 "\nvfma.f32 " b ", " l ", " x1 "\n" \
    "vfma.f32 " c ", " m ", " x2 "\nvfma.f32 " d ", " n ", " x3 "\n"
#define NNCC_F32_LANES8_FIRST \
    NNCC_F32_LANES4("s0", "s1", "s2", "s3", "s16", "s17", "s18", "s19", "s24", "s25", "s26", "s27") \
    NNCC_F32_LANES4("s4", "s5", "s6", "s7", "s20", "s21", "s22", "s23", "s28", "s29", "s30", "s31")
#define NNCC_F32_LANES8_SECOND \
    NNCC_F32_LANES4("s8", "s9", "s10", "s11", "s16", "s17", "s18", "s19", "s24", "s25", "s26", "s27") \
    NNCC_F32_LANES4("s12", "s13", "s14", "s15", "s20", "s21", "s22", "s23", "s28", "s29", "s30", "s31")
#define NNCC_F32_TAPS(step, x_next) \
    "ldr %[c], [%[t], #44]\n" \
    "add %[w], %[w], %[c], lsl #5\n" \
    "ldr %[rows], [%[t], #16]\n" \
    "2:\n" \
    "ldr %[c], [%[t]]\n" \
    "cmp %[c], #0\n" \
    "beq 3f\n" \
    "1:\n" \
    step \
    "subs %[c], #1\n" \
    "bne 1b\n" \
    "3:\n" \
    "ldr %[c], [%[t], #8]\n" \
    x_next \
    "ldr %[c], [%[t], #12]\n" \
    "add %[w], %[c]\n" \
    "subs %[rows], #1\n" \
    "bne 2b\n"

/* 8 channels of 2 pixels. */
static inline void nncc_f32_channels_8x2(const nncc_f32_job *t, const float *w, const float *x0, const float *x1,
                                         float *y0, float *y1)
{
    int32_t rows;
    int32_t c;
    __asm volatile("vldmia %[w], {s0-s7}\n"
                   "vldmia %[w]!, {s8-s15}\n"
                   NNCC_F32_TAPS(
                       "vldmia %[w]!, {s16-s23}\n"
                       NNCC_F32_INPUTS8("x0")
                       "add %[x0], %[across]\n"
                       NNCC_F32_LANES8_FIRST
                       NNCC_F32_INPUTS8("x1")
                       "add %[x1], %[across]\n"
                       NNCC_F32_LANES8_SECOND,
                       NNCC_F32_SKIP2)
                   NNCC_F32_LIMIT(NNCC_F32_FIRST8(NNCC_F32_BELOW, "s24") NNCC_F32_SECOND8(NNCC_F32_BELOW, "s24"),
                                  NNCC_F32_FIRST8(NNCC_F32_ABOVE, "s24") NNCC_F32_SECOND8(NNCC_F32_ABOVE, "s24"))
                   "vstmia %[y0], {s0-s7}\n"
                   "vstmia %[y1], {s8-s15}\n"
                   : [w] "+r"(w), [x0] "+r"(x0), [x1] "+r"(x1), [c] "=&r"(c), [rows] "=&r"(rows)
                   : [t] "r"(t), [y0] "r"(y0), [y1] "r"(y1), [across] "r"(t->across)
                   : NNCC_F32_CLOBBERS, "s28", "s29", "s30", "s31");
}

/* 8 channels of a pixel. */
static inline void nncc_f32_channels_8x1(const nncc_f32_job *t, const float *w, const float *x0, float *y0)
{
    int32_t rows;
    int32_t c;
    __asm volatile("vldmia %[w]!, {s0-s7}\n"
                   NNCC_F32_TAPS(
                       "vldmia %[w]!, {s16-s23}\n"
                       NNCC_F32_INPUTS8("x0")
                       "add %[x0], %[across]\n"
                       NNCC_F32_LANES8_FIRST,
                       NNCC_F32_SKIP1)
                   NNCC_F32_LIMIT(NNCC_F32_FIRST8(NNCC_F32_BELOW, "s24"), NNCC_F32_FIRST8(NNCC_F32_ABOVE, "s24"))
                   "vstmia %[y0], {s0-s7}\n"
                   : [w] "+r"(w), [x0] "+r"(x0), [c] "=&r"(c), [rows] "=&r"(rows)
                   : [t] "r"(t), [y0] "r"(y0), [across] "r"(t->across)
                   : NNCC_F32_CLOBBERS, "s28", "s29", "s30", "s31");
}
/* clang-format on */

static inline void nncc_f32_channels_wide(const nncc_f32_job *t, int32_t pixels, const float *w, const float *const *x,
                                          float *const *y, int32_t c)
{
    if (pixels > 1) {
        nncc_f32_channels_8x2(t, w, x[0] + c, x[1] + c, y[0] + c, y[1] + c);
    } else {
        nncc_f32_channels_8x1(t, w, x[0] + c, y[0] + c);
    }
}

#elif NNCC_F32_FPU

/* Weights o and o+1 times the inputs of a pixel at x. */
#define NNCC_F32_LANES(a, x, o, i, j) \
    do { \
        float u, v; \
\
        NNCC_F32_PAIR((x) + (o), u, v); \
        NNCC_F32_TIMES(a##i, k, u); \
        NNCC_F32_TIMES(a##j, l, v); \
    } while (0)
#define NNCC_F32_LANES3(o, i, j) \
    do { \
        float k, l; \
\
        NNCC_F32_PAIR(w + NNCC_F32_W_BIAS + (o), k, l); \
        NNCC_F32_LANES(a, x0, o, i, j); \
        NNCC_F32_LANES(b, x1, o, i, j); \
        NNCC_F32_LANES(c, x2, o, i, j); \
    } while (0)
#define NNCC_F32_LANES1(o, i, j) \
    do { \
        float k, l; \
\
        NNCC_F32_PAIR(w + NNCC_F32_W_BIAS + (o), k, l); \
        NNCC_F32_LANES(a, x0, o, i, j); \
    } while (0)
#define NNCC_F32_TAPS(lanes, skip) \
    do { \
        const int32_t across = t->across; \
        int32_t rows = t->rows; \
\
        w += NNCC_F32_WIDE * (1 + t->first) - NNCC_F32_W_BIAS; \
        do { \
            for (int32_t n = t->steps; n > 0; n--) { \
                lanes(0, 0, 1); \
                lanes(2, 2, 3); \
                lanes(4, 4, 5); \
                lanes(6, 6, 7); \
                w += NNCC_F32_WIDE; \
                skip(across); \
            } \
            skip(t->x_skip); \
            w = nncc_f32_bytes(w, t->w_skip); \
        } while (--rows > 0); \
    } while (0)

/* 8 channels of 3 pixels. */
NNCC_F32_IN_ORDER static void nncc_f32_channels_8x3(const nncc_f32_job *t, const float *w, const float *const *x,
                                                    float *const *y, int32_t at)
{
    const float *x0 = x[0] + at, *x1 = x[1] + at, *x2 = x[2] + at;
    NNCC_F32_BEGIN8(a, w);
    NNCC_F32_SAME8(b, a);
    NNCC_F32_SAME8(c, a);

    NNCC_F32_TAPS(NNCC_F32_LANES3, NNCC_F32_SKIP3);
    NNCC_F32_LIMIT(t, NNCC_F32_EACH8, a);
    NNCC_F32_LIMIT(t, NNCC_F32_EACH8, b);
    NNCC_F32_LIMIT(t, NNCC_F32_EACH8, c);
    NNCC_F32_STORE8(y[0] + at, a);
    NNCC_F32_STORE8(y[1] + at, b);
    NNCC_F32_STORE8(y[2] + at, c);
}

/* 8 channels of a pixel. */
NNCC_F32_IN_ORDER static void nncc_f32_channels_8x1(const nncc_f32_job *t, const float *w, const float *x0, float *y)
{
    NNCC_F32_BEGIN8(a, w);

    NNCC_F32_TAPS(NNCC_F32_LANES1, NNCC_F32_SKIP1);
    NNCC_F32_LIMIT(t, NNCC_F32_EACH8, a);
    NNCC_F32_STORE8(y, a);
}

static inline void nncc_f32_channels_wide(const nncc_f32_job *t, int32_t pixels, const float *w, const float *const *x,
                                          float *const *y, int32_t c)
{
    if (pixels > 1) {
        nncc_f32_channels_8x3(t, w, x, y, c);
    } else {
        nncc_f32_channels_8x1(t, w, x[0] + c, y[0] + c);
    }
}

#else

static inline void nncc_f32_channels_wide(const nncc_f32_job *t, int32_t pixels, const float *w, const float *const *x,
                                          float *const *y, int32_t c)
{
    for (int32_t i = 0; i < pixels; i++) {
        nncc_f32_channels_one(t, NNCC_F32_WIDE, NNCC_F32_WIDE, w, x[i] + c, y[i] + c);
    }
}

#endif

#endif

#endif /* NNCC_F32_CHANNELS_H */
