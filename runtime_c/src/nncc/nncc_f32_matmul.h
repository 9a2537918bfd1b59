/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_matmul.h: the inner functions of products of two float32 matrices that are both computed at run time: 8
 * columns of up to NNCC_F32_ROWS rows. Rows of the left one and of the right one are runs of memory. Sums are fused, in
 * ascending order. Helium: 21 instructions for 48 products; FPU: 40 for 32, in C 133 for 96 by GCC.
 */
#include "nncc_fp.h"

#include <stdint.h>

#include "nncc_f32_core.h"
#include "nncc_f32_sums.h"

#define NNCC_F32_COLUMNS 8

#if NNCC_F32_MVE_ASM

#define NNCC_F32_ROWS 3

/* clang-format off */
/* Three rows of a, k long, times 8 columns of b, whose rows are `step` bytes apart. */
static inline void nncc_f32_matmul_rows(const float *const *a, const float *b, int32_t step, int32_t k,
                                        float *const *y)
{
    const float *x0 = a[0];
    const float *x1 = a[1];
    const float *x2 = a[2];
    const int32_t pairs = k / 2;
    float32x4_t a0 = vdupq_n_f32(0.0f);
    float32x4_t a1 = a0;
    float32x4_t a2 = a0;
    float32x4_t b0 = a0;
    float32x4_t b1 = a0;
    float32x4_t b2 = a0;
    float32x4_t v;
    float32x4_t w;
    int32_t s;
    int32_t s0;
    int32_t s1;
    int32_t s2;

    __asm volatile("wls lr, %[pairs], 3f\n"
                   "1:\n"
                   "ldrd %[s], %[s0], [%[x0]], #8\n"
                   "vldrw.32 %q[v], [%[b]]\n"
                   "vfma.f32 %q[a0], %q[v], %[s]\n"
                   "vldrw.32 %q[w], [%[b], #16]\n"
                   "vfma.f32 %q[b0], %q[w], %[s]\n"
                   "add %[b], %[step]\n"
                   "ldrd %[s], %[s1], [%[x1]], #8\n"
                   "vfma.f32 %q[a1], %q[v], %[s]\n"
                   "vfma.f32 %q[b1], %q[w], %[s]\n"
                   "ldrd %[s], %[s2], [%[x2]], #8\n"
                   "vfma.f32 %q[a2], %q[v], %[s]\n"
                   "vldrw.32 %q[v], [%[b]]\n"
                   "vfma.f32 %q[b2], %q[w], %[s]\n"
                   "vldrw.32 %q[w], [%[b], #16]\n"
                   "vfma.f32 %q[a0], %q[v], %[s0]\n"
                   "add %[b], %[step]\n"
                   "vfma.f32 %q[a1], %q[v], %[s1]\n"
                   "vfma.f32 %q[a2], %q[v], %[s2]\n"
                   "vfma.f32 %q[b0], %q[w], %[s0]\n"
                   "vfma.f32 %q[b1], %q[w], %[s1]\n"
                   "vfma.f32 %q[b2], %q[w], %[s2]\n"
                   "le lr, 1b\n"
                   "3:\n"
                   "tst %[k], #1\n"
                   "beq 4f\n"
                   "ldr %[s0], [%[x0]]\n"
                   "ldr %[s1], [%[x1]]\n"
                   "ldr %[s2], [%[x2]]\n"
                   "vldrw.32 %q[v], [%[b]]\n"
                   "vldrw.32 %q[w], [%[b], #16]\n"
                   "vfma.f32 %q[a0], %q[v], %[s0]\n"
                   "vfma.f32 %q[a1], %q[v], %[s1]\n"
                   "vfma.f32 %q[a2], %q[v], %[s2]\n"
                   "vfma.f32 %q[b0], %q[w], %[s0]\n"
                   "vfma.f32 %q[b1], %q[w], %[s1]\n"
                   "vfma.f32 %q[b2], %q[w], %[s2]\n"
                   "4:\n"
                   : [a0] "+w"(a0), [b0] "+w"(b0), [a1] "+w"(a1), [b1] "+w"(b1), [a2] "+w"(a2), [b2] "+w"(b2),
                     [v] "=&w"(v), [w] "=&w"(w), [s] "=&r"(s), [s0] "=&r"(s0), [s1] "=&r"(s1), [s2] "=&r"(s2),
                     [b] "+r"(b), [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2)
                   : [step] "r"(step), [pairs] "r"(pairs), [k] "r"(k)
                   : "lr", "cc", "memory");
    vstrwq_f32(y[0], a0);
    vstrwq_f32(y[0] + 4, b0);
    vstrwq_f32(y[1], a1);
    vstrwq_f32(y[1] + 4, b1);
    vstrwq_f32(y[2], a2);
    vstrwq_f32(y[2] + 4, b2);
}

/* One row. */
static inline void nncc_f32_matmul_row(const float *a, const float *b, int32_t step, int32_t k, float *y)
{
    float32x4_t a0 = vdupq_n_f32(0.0f);
    float32x4_t b0 = a0;
    float32x4_t v;
    float32x4_t w;
    int32_t s;

    __asm volatile("wls lr, %[k], 3f\n"
                   "1:\n"
                   "ldr %[s], [%[x]], #4\n"
                   "vldrw.32 %q[v], [%[b]]\n"
                   "vfma.f32 %q[a0], %q[v], %[s]\n"
                   "vldrw.32 %q[w], [%[b], #16]\n"
                   "vfma.f32 %q[b0], %q[w], %[s]\n"
                   "add %[b], %[step]\n"
                   "le lr, 1b\n"
                   "3:\n"
                   : [a0] "+w"(a0), [b0] "+w"(b0), [v] "=&w"(v), [w] "=&w"(w), [s] "=&r"(s), [b] "+r"(b), [x] "+r"(a)
                   : [step] "r"(step), [k] "r"(k)
                   : "lr", "cc", "memory");
    vstrwq_f32(y, a0);
    vstrwq_f32(y + 4, b0);
}
/* clang-format on */

#elif NNCC_F32_MVE

#define NNCC_F32_ROWS 3

/* Row b of the right matrix with number i of the left one's rows. */
#define NNCC_F32_STEP(i) \
    do { \
        const float32x4_t v = vldrwq_f32(b), w = vldrwq_f32(b + 4); \
        const float s0 = x0[i], s1 = x1[i], s2 = x2[i]; \
\
        a0 = vfmaq_n_f32(a0, v, s0); \
        b0 = vfmaq_n_f32(b0, w, s0); \
        a1 = vfmaq_n_f32(a1, v, s1); \
        b1 = vfmaq_n_f32(b1, w, s1); \
        a2 = vfmaq_n_f32(a2, v, s2); \
        b2 = vfmaq_n_f32(b2, w, s2); \
        b = nncc_f32_bytes(b, step); \
    } while (0)

/* Three rows of a, k long, times 8 columns of b, whose rows are `step` bytes apart. */
NNCC_F32_IN_ORDER static void nncc_f32_matmul_rows(const float *const *a, const float *b, int32_t step, int32_t k,
                                                   float *const *y)
{
    const float *x0 = a[0], *x1 = a[1], *x2 = a[2];
    float32x4_t a0 = vdupq_n_f32(0.0f), a1 = a0, a2 = a0, b0 = a0, b1 = a0, b2 = a0;

    for (; k > 0; k--) {
        NNCC_F32_STEP(0);
        x0++;
        x1++;
        x2++;
    }
    vstrwq_f32(y[0], a0);
    vstrwq_f32(y[0] + 4, b0);
    vstrwq_f32(y[1], a1);
    vstrwq_f32(y[1] + 4, b1);
    vstrwq_f32(y[2], a2);
    vstrwq_f32(y[2] + 4, b2);
}

/* One row. */
NNCC_F32_IN_ORDER static void nncc_f32_matmul_row(const float *a, const float *b, int32_t step, int32_t k, float *y)
{
    float32x4_t a0 = vdupq_n_f32(0.0f), b0 = a0;

    for (; k > 0; k--) {
        const float s = *a++;

        a0 = vfmaq_n_f32(a0, vldrwq_f32(b), s);
        b0 = vfmaq_n_f32(b0, vldrwq_f32(b + 4), s);
        b = nncc_f32_bytes(b, step);
    }
    vstrwq_f32(y, a0);
    vstrwq_f32(y + 4, b0);
}

#elif NNCC_F32_FPU_ASM

#define NNCC_F32_ROWS 2

static const float nncc_f32_zeros[NNCC_F32_COLUMNS] = {0.0f};

/* clang-format off */
#define NNCC_F32_RIGHT "vldmia %[b], {s16-s23}\nadd %[b], %[step]\n"
#define NNCC_F32_LEFT0(x) \
    "vfma.f32 s0, s16, " x "\nvfma.f32 s1, s17, " x "\nvfma.f32 s2, s18, " x "\nvfma.f32 s3, s19, " x "\n" \
    "vfma.f32 s4, s20, " x "\nvfma.f32 s5, s21, " x "\nvfma.f32 s6, s22, " x "\nvfma.f32 s7, s23, " x "\n"
#define NNCC_F32_LEFT1(x) \
    "vfma.f32 s8, s16, " x "\nvfma.f32 s9, s17, " x "\nvfma.f32 s10, s18, " x "\nvfma.f32 s11, s19, " x "\n" \
    "vfma.f32 s12, s20, " x "\nvfma.f32 s13, s21, " x "\nvfma.f32 s14, s22, " x "\nvfma.f32 s15, s23, " x "\n"

/* Two rows of a, k long, times 8 columns of b, whose rows are `step` bytes apart. */
static inline void nncc_f32_matmul_rows(const float *const *a, const float *b, int32_t step, int32_t k,
                                        float *const *y)
{
    const float *x0 = a[0];
    const float *x1 = a[1];
    int32_t c;
    __asm volatile("vldmia %[zero], {s0-s7}\n"
                   "vldmia %[zero], {s8-s15}\n"
                   "asrs %[c], %[k], #1\n"
                   "beq 2f\n"
                   "1:\n"
                   "vldmia %[x0]!, {s24-s25}\n"
                   "vldmia %[x1]!, {s26-s27}\n"
                   NNCC_F32_RIGHT
                   NNCC_F32_LEFT0("s24")
                   NNCC_F32_LEFT1("s26")
                   NNCC_F32_RIGHT
                   NNCC_F32_LEFT0("s25")
                   NNCC_F32_LEFT1("s27")
                   "subs %[c], #1\n"
                   "bne 1b\n"
                   "2:\n"
                   "tst %[k], #1\n"
                   "beq 3f\n"
                   "vldr s24, [%[x0]]\n"
                   "vldr s26, [%[x1]]\n"
                   NNCC_F32_RIGHT
                   NNCC_F32_LEFT0("s24")
                   NNCC_F32_LEFT1("s26")
                   "3:\n"
                   "ldr %[c], [%[y]]\n"
                   "vstmia %[c], {s0-s7}\n"
                   "ldr %[c], [%[y], #4]\n"
                   "vstmia %[c], {s8-s15}\n"
                   : [b] "+r"(b), [x0] "+r"(x0), [x1] "+r"(x1), [c] "=&r"(c)
                   : [step] "r"(step), [k] "r"(k), [zero] "r"(nncc_f32_zeros), [y] "r"(y)
                   : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14",
                     "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "cc",
                     "memory");
}

/* One row. */
static inline void nncc_f32_matmul_row(const float *a, const float *b, int32_t step, int32_t k, float *y)
{
    __asm volatile("vldmia %[zero], {s0-s7}\n"
                   "1:\n"
                   "vldmia %[x]!, {s24}\n"
                   NNCC_F32_RIGHT
                   NNCC_F32_LEFT0("s24")
                   "subs %[k], #1\n"
                   "bne 1b\n"
                   "vstmia %[y], {s0-s7}\n"
                   : [b] "+r"(b), [x] "+r"(a), [k] "+r"(k)
                   : [step] "r"(step), [zero] "r"(nncc_f32_zeros), [y] "r"(y)
                   : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s16", "s17", "s18", "s19", "s20", "s21", "s22",
                     "s23", "s24", "cc", "memory");
}
/* clang-format on */

#elif NNCC_F32_FPU

#define NNCC_F32_ROWS 3

/* Row b of the right matrix with number i of the left one's rows, and with one. */
#define NNCC_F32_STEP(i) \
    do { \
        NNCC_F32_INPUT3(NNCC_F32_RIGHT, i); \
        b = nncc_f32_bytes(b, step); \
    } while (0)
#define NNCC_F32_RIGHT(i, s0, s1, s2) NNCC_F32_OF8_AT(b)

/* Three rows of a, k long, times 8 columns of b, whose rows are `step` bytes apart. */
NNCC_F32_IN_ORDER static void nncc_f32_matmul_rows(const float *const *a, const float *b, int32_t step, int32_t k,
                                                   float *const *y)
{
    const float *x0 = a[0], *x1 = a[1], *x2 = a[2];
    float a0 = 0.0f, a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
    NNCC_F32_SAME8(b, a);
    NNCC_F32_SAME8(c, a);

    for (; k > 0; k--) {
        NNCC_F32_STEP(0);
        x0++;
        x1++;
        x2++;
    }
    NNCC_F32_STORE8(y[0], a);
    NNCC_F32_STORE8(y[1], b);
    NNCC_F32_STORE8(y[2], c);
}

/* One row. */
NNCC_F32_IN_ORDER static void nncc_f32_matmul_row(const float *a, const float *b, int32_t step, int32_t k, float *y)
{
    float a0 = 0.0f, a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;

    for (; k > 0; k--) {
        const float s = *a++;

        NNCC_F32_OF8X1_AT(b, s);
        b = nncc_f32_bytes(b, step);
    }
    NNCC_F32_STORE8(y, a);
}

#else

#define NNCC_F32_ROWS 0

#endif
