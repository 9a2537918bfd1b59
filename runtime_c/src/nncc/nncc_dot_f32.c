/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dot_f32: dot products of one vector with one or four rows. */
#include "nncc_fp.h"

#include "nncc_dot_f32.h"
#include "nncc_f32_core.h"
#include "nncc_f32_sums.h"

#if NNCC_F32_MVE_ASM

/* clang-format off */
/* Four rows: 10 instructions for 16 products. */
static inline void nncc_f32_dot4(const float *x, const float *w, const float *w1, const float *w2, const float *w3,
                                 int32_t n, float *acc)
{
    __asm volatile("vmov.i32 q0, #0\n"
                   "vmov.i32 q1, #0\n"
                   "vmov.i32 q2, #0\n"
                   "vmov.i32 q3, #0\n"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n"
                   "vldrw.32 q4, [%[x]], #16\n"
                   "vldrw.32 q5, [%[w]], #16\n"
                   "vfma.f32 q0, q4, q5\n"
                   "vldrw.32 q6, [%[w1]], #16\n"
                   "vfma.f32 q1, q4, q6\n"
                   "vldrw.32 q5, [%[w2]], #16\n"
                   "vfma.f32 q2, q4, q5\n"
                   "vldrw.32 q6, [%[w3]], #16\n"
                   "vfma.f32 q3, q4, q6\n"
                   "letp lr, 1b\n"
                   "2:\n"
                   "vldmia %[acc], {s16-s19}\n"
                   "vadd.f32 s0, s0, s1\n"
                   "vadd.f32 s2, s2, s3\n"
                   "vadd.f32 s4, s4, s5\n"
                   "vadd.f32 s6, s6, s7\n"
                   "vadd.f32 s8, s8, s9\n"
                   "vadd.f32 s10, s10, s11\n"
                   "vadd.f32 s12, s12, s13\n"
                   "vadd.f32 s14, s14, s15\n"
                   "vadd.f32 s0, s0, s2\n"
                   "vadd.f32 s4, s4, s6\n"
                   "vadd.f32 s8, s8, s10\n"
                   "vadd.f32 s12, s12, s14\n"
                   "vadd.f32 s16, s16, s0\n"
                   "vadd.f32 s17, s17, s4\n"
                   "vadd.f32 s18, s18, s8\n"
                   "vadd.f32 s19, s19, s12\n"
                   "vstmia %[acc], {s16-s19}\n"
                   : [x] "+r"(x), [w] "+r"(w), [w1] "+r"(w1), [w2] "+r"(w2), [w3] "+r"(w3)
                   : [n] "r"(n), [acc] "r"(acc)
                   : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "lr", "cc", "memory");
}

static inline void nncc_f32_dot1(const float *x, const float *w, int32_t n, float *acc)
{
    __asm volatile("vmov.i32 q0, #0\n"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n"
                   "vldrw.32 q1, [%[x]], #16\n"
                   "vldrw.32 q2, [%[w]], #16\n"
                   "vfma.f32 q0, q1, q2\n"
                   "letp lr, 1b\n"
                   "2:\n"
                   "vldr s4, [%[acc]]\n"
                   "vadd.f32 s0, s0, s1\n"
                   "vadd.f32 s2, s2, s3\n"
                   "vadd.f32 s0, s0, s2\n"
                   "vadd.f32 s4, s4, s0\n"
                   "vstr s4, [%[acc]]\n"
                   : [x] "+r"(x), [w] "+r"(w)
                   : [n] "r"(n), [acc] "r"(acc)
                   : "q0", "q1", "q2", "lr", "cc", "memory");
}
/* clang-format on */

#elif NNCC_F32_MVE

/* What a sum of every fourth product gives, added to acc. */
static inline void nncc_f32_gather(float32x4_t v, float *acc)
{
    float part[4];

    vstrwq_f32(part, v);
    *acc += (part[0] + part[1]) + (part[2] + part[3]);
}

/* Four products of every row, all of them or those that are left. */
#define NNCC_F32_DOT4(load) \
    do { \
        const float32x4_t v = load(x); \
\
        a0 = vfmaq_f32(a0, v, load(w)); \
        a1 = vfmaq_f32(a1, v, load(w1)); \
        a2 = vfmaq_f32(a2, v, load(w2)); \
        a3 = vfmaq_f32(a3, v, load(w3)); \
    } while (0)
#define NNCC_F32_SOME(p) vldrwq_z_f32(p, some)

/* Four rows. */
static inline void nncc_f32_dot4(const float *x, const float *w, const float *w1, const float *w2, const float *w3,
                                 int32_t n, float *acc)
{
    float32x4_t a0 = vdupq_n_f32(0.0f), a1 = a0, a2 = a0, a3 = a0;

    for (; n >= 4; n -= 4) {
        NNCC_F32_DOT4(vldrwq_f32);
        x += 4;
        w += 4;
        w1 += 4;
        w2 += 4;
        w3 += 4;
    }
    if (n > 0) {
        const mve_pred16_t some = vctp32q((uint32_t)n);

        NNCC_F32_DOT4(NNCC_F32_SOME);
    }
    nncc_f32_gather(a0, acc);
    nncc_f32_gather(a1, acc + 1);
    nncc_f32_gather(a2, acc + 2);
    nncc_f32_gather(a3, acc + 3);
}

static inline void nncc_f32_dot1(const float *x, const float *w, int32_t n, float *acc)
{
    float32x4_t a = vdupq_n_f32(0.0f);

    for (; n >= 4; n -= 4) {
        a = vfmaq_f32(a, vldrwq_f32(x), vldrwq_f32(w));
        x += 4;
        w += 4;
    }
    if (n > 0) {
        const mve_pred16_t some = vctp32q((uint32_t)n);

        a = vfmaq_f32(a, NNCC_F32_SOME(x), NNCC_F32_SOME(w));
    }
    nncc_f32_gather(a, acc);
}

#elif NNCC_F32_FPU_ASM

/* clang-format off */
/* Four rows: 23 instructions for 16 products. */
static inline void nncc_f32_dot4(const float *x, const float *w, const float *w1, const float *w2, const float *w3,
                                 int32_t n, float *acc)
{
    int32_t quads;
    __asm volatile("vldmia %[acc], {s0-s3}\n"
                   "asrs %[c], %[n], #2\n"
                   "beq 2f\n"
                   "1:\n"
                   "vldmia %[x]!, {s24-s27}\n"
                   "vldmia %[w]!, {s8-s11}\n"
                   "vldmia %[w1]!, {s12-s15}\n"
                   "vldmia %[w2]!, {s16-s19}\n"
                   "vldmia %[w3]!, {s20-s23}\n"
                   "vfma.f32 s0, s8, s24\n"
                   "vfma.f32 s1, s12, s24\n"
                   "vfma.f32 s2, s16, s24\n"
                   "vfma.f32 s3, s20, s24\n"
                   "vfma.f32 s0, s9, s25\n"
                   "vfma.f32 s1, s13, s25\n"
                   "vfma.f32 s2, s17, s25\n"
                   "vfma.f32 s3, s21, s25\n"
                   "vfma.f32 s0, s10, s26\n"
                   "vfma.f32 s1, s14, s26\n"
                   "vfma.f32 s2, s18, s26\n"
                   "vfma.f32 s3, s22, s26\n"
                   "vfma.f32 s0, s11, s27\n"
                   "vfma.f32 s1, s15, s27\n"
                   "vfma.f32 s2, s19, s27\n"
                   "vfma.f32 s3, s23, s27\n"
                   "subs %[c], #1\n"
                   "bne 1b\n"
                   "2:\n"
                   "ands %[c], %[n], #3\n"
                   "beq 4f\n"
                   "3:\n"
                   "vldmia %[x]!, {s24}\n"
                   "vldmia %[w]!, {s8}\n"
                   "vldmia %[w1]!, {s12}\n"
                   "vldmia %[w2]!, {s16}\n"
                   "vldmia %[w3]!, {s20}\n"
                   "vfma.f32 s0, s8, s24\n"
                   "vfma.f32 s1, s12, s24\n"
                   "vfma.f32 s2, s16, s24\n"
                   "vfma.f32 s3, s20, s24\n"
                   "subs %[c], #1\n"
                   "bne 3b\n"
                   "4:\n"
                   "vstmia %[acc], {s0-s3}\n"
                   : [x] "+r"(x), [w] "+r"(w), [w1] "+r"(w1), [w2] "+r"(w2), [w3] "+r"(w3), [c] "=&r"(quads)
                   : [n] "r"(n), [acc] "r"(acc)
                   : "s0", "s1", "s2", "s3", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18",
                     "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "cc", "memory");
}

static inline void nncc_f32_dot1(const float *x, const float *w, int32_t n, float *acc)
{
    int32_t quads;
    __asm volatile("vldr s0, [%[acc]]\n"
                   "asrs %[c], %[n], #2\n"
                   "beq 2f\n"
                   "1:\n"
                   "vldmia %[x]!, {s4-s7}\n"
                   "vldmia %[w]!, {s8-s11}\n"
                   "vfma.f32 s0, s4, s8\n"
                   "vfma.f32 s0, s5, s9\n"
                   "vfma.f32 s0, s6, s10\n"
                   "vfma.f32 s0, s7, s11\n"
                   "subs %[c], #1\n"
                   "bne 1b\n"
                   "2:\n"
                   "ands %[c], %[n], #3\n"
                   "beq 4f\n"
                   "3:\n"
                   "vldmia %[x]!, {s4}\n"
                   "vldmia %[w]!, {s8}\n"
                   "vfma.f32 s0, s4, s8\n"
                   "subs %[c], #1\n"
                   "bne 3b\n"
                   "4:\n"
                   "vstr s0, [%[acc]]\n"
                   : [x] "+r"(x), [w] "+r"(w), [c] "=&r"(quads)
                   : [n] "r"(n), [acc] "r"(acc)
                   : "s0", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "cc", "memory");
}
/* clang-format on */

#elif NNCC_F32_FPU

/* Inputs o and o+1, and those of a row. */
#define NNCC_F32_ROW(a, p, o) \
    do { \
        float k, l; \
\
        NNCC_F32_PAIR((p) + (o), k, l); \
        NNCC_F32_TIMES(a, u, k); \
        NNCC_F32_TIMES(a, v, l); \
    } while (0)
#define NNCC_F32_ROWS4(o) \
    do { \
        float u, v; \
\
        NNCC_F32_PAIR(x + (o), u, v); \
        NNCC_F32_ROW(a0, w, o); \
        NNCC_F32_ROW(a1, w1, o); \
        NNCC_F32_ROW(a2, w2, o); \
        NNCC_F32_ROW(a3, w3, o); \
    } while (0)
#define NNCC_F32_ROWS1(o) \
    do { \
        float u, v; \
\
        NNCC_F32_PAIR(x + (o), u, v); \
        NNCC_F32_ROW(a0, w, o); \
    } while (0)
#define NNCC_F32_MOVE4(n) \
    do { \
        x += n; \
        w += n; \
        w1 += n; \
        w2 += n; \
        w3 += n; \
    } while (0)

/* Four rows: 59 instructions for 32 products with GCC. */
NNCC_F32_IN_ORDER static void nncc_f32_dot4(const float *x, const float *w, const float *w1, const float *w2,
                                            const float *w3, int32_t n, float *acc)
{
    NNCC_F32_BEGIN4(a, acc);

    for (int32_t m = n >> 3; m > 0; m--) {
        NNCC_F32_ROWS4(0);
        NNCC_F32_ROWS4(2);
        NNCC_F32_ROWS4(4);
        NNCC_F32_ROWS4(6);
        NNCC_F32_MOVE4(8);
    }
    if ((n & 4) != 0) {
        NNCC_F32_ROWS4(0);
        NNCC_F32_ROWS4(2);
        NNCC_F32_MOVE4(4);
    }
    for (int32_t m = n & 3; m > 0; m--) {
        const float v = x[0];

        NNCC_F32_TIMES(a0, v, w[0]);
        NNCC_F32_TIMES(a1, v, w1[0]);
        NNCC_F32_TIMES(a2, v, w2[0]);
        NNCC_F32_TIMES(a3, v, w3[0]);
        NNCC_F32_MOVE4(1);
    }
    NNCC_F32_STORE4(acc, a);
}

NNCC_F32_IN_ORDER static void nncc_f32_dot1(const float *x, const float *w, int32_t n, float *acc)
{
    float a0 = *acc;

    for (int32_t m = n >> 3; m > 0; m--) {
        NNCC_F32_ROWS1(0);
        NNCC_F32_ROWS1(2);
        NNCC_F32_ROWS1(4);
        NNCC_F32_ROWS1(6);
        x += 8;
        w += 8;
    }
    for (int32_t m = n & 7; m > 0; m--) {
        NNCC_F32_TIMES(a0, *x, *w);
        x++;
        w++;
    }
    *acc = a0;
}

#else

static inline void nncc_f32_dot4(const float *x, const float *w, const float *w1, const float *w2, const float *w3,
                                 int32_t n, float *acc)
{
    float a0 = acc[0];
    float a1 = acc[1];
    float a2 = acc[2];
    float a3 = acc[3];

    for (int32_t i = 0; i < n; i++) {
        const float v = x[i];
        a0 += v * w[i];
        a1 += v * w1[i];
        a2 += v * w2[i];
        a3 += v * w3[i];
    }
    acc[0] = a0;
    acc[1] = a1;
    acc[2] = a2;
    acc[3] = a3;
}

static inline void nncc_f32_dot1(const float *x, const float *w, int32_t n, float *acc)
{
    float a = *acc;

    for (int32_t i = 0; i < n; i++) {
        a += x[i] * w[i];
    }
    *acc = a;
}

#endif

void nncc_dot_f32(const float *x, const float *w, int32_t w_stride, int32_t n, int32_t lanes, float *acc)
{
    if (lanes == 4) {
        const float *w1 = w + w_stride;
        const float *w2 = w1 + w_stride;

        nncc_f32_dot4(x, w, w1, w2, w2 + w_stride, n, acc);
    } else {
        nncc_f32_dot1(x, w, n, acc);
    }
}
