/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_rows.h: float32 functions of rows, element by element. Instructions a value: sums, differences, products
 * 1.25 with Helium, 1.6 with an FPU; maxima 2 and 6.6; sums of four weighted rows 2.5 and 4.9.
 */
#ifndef NNCC_F32_ROWS_H
#define NNCC_F32_ROWS_H

#include "nncc_fp.h"

#include <math.h>
#include <stdint.h>

#include "nncc_f32_core.h"
#include "nncc_f32_held.h"

/* Values that the FPU's loops take at once. */
#define NNCC_F32_EIGHT 8

/* An operation in assembly and without. */
#if NNCC_F32_C
#define NNCC_F32_OP(name, step) step
#else
#define NNCC_F32_OP(name, step) name
#endif

/* Functions of loops over pairs, by themselves: they want registers, and so do those that call them. */
#if NNCC_F32_C && NNCC_F32_FPU && defined(__clang__)
#define NNCC_F32_LOOP NNCC_APART static inline
#elif NNCC_F32_C && NNCC_F32_FPU
#define NNCC_F32_LOOP NNCC_F32_IN_ORDER static inline
#else
#define NNCC_F32_LOOP static inline
#endif

/* clang-format off */
#if NNCC_F32_MVE_ASM

/* y = a op b, i becomes the number of values that are done. */
#define NNCC_F32_ROWS_OF(op, a, b, y, n, i) \
    do { \
        const float *from_ = (a); \
        const float *other_ = (b); \
        float *to_ = (y); \
        __asm volatile("wlstp.32 lr, %[left], 2f\n" \
                       "1:\n" \
                       "vldrw.32 q0, [%[from]], #16\n" \
                       "vldrw.32 q1, [%[other]], #16\n" \
                       op " q0, q0, q1\n" \
                       "vstrw.32 q0, [%[to]], #16\n" \
                       "letp lr, 1b\n" \
                       "2:\n" \
                       : [from] "+r"(from_), [other] "+r"(other_), [to] "+r"(to_) \
                       : [left] "r"(n) \
                       : "q0", "q1", "lr", "cc", "memory"); \
        (i) = (n); \
    } while (0)

#elif NNCC_F32_MVE

/*
 * step(what) for n values: it takes vectors by get##what, gives one by put##what and moves its pointers on; what is ALL,
 * or SOME for the last vector. Clang makes a loop that ends in LETP of one that begins with VCTP.
 */
#define NNCC_F32_GET_ALL(x) vldrwq_f32(x)
#define NNCC_F32_GET_SOME(x) vldrwq_z_f32(x, some_)
#define NNCC_F32_PUT_ALL(y, v) vstrwq_f32(y, v)
#define NNCC_F32_PUT_SOME(y, v) vstrwq_p_f32(y, v, some_)
#define NNCC_F32_WHOLE_STEPS(n, step) \
    do { \
        for (int32_t left_ = (n) / 4; left_ > 0; left_--) { \
            step(ALL); \
        } \
        if (((n)&3) != 0) { \
            const mve_pred16_t some_ = vctp32q((uint32_t)(n)&3u); \
\
            step(SOME); \
        } \
    } while (0)
#if defined(__clang__)
#define NNCC_F32_STEPS(n, step) \
    for (int32_t left_ = (n); left_ > 0; left_ -= 4) { \
        const mve_pred16_t some_ = vctp32q((uint32_t)left_); \
\
        step(SOME); \
    }
#else
#define NNCC_F32_STEPS(n, step) NNCC_F32_WHOLE_STEPS(n, step)
#endif

#define NNCC_F32_ROWS_STEP(what, op) \
    NNCC_F32_PUT_##what(to_, op(NNCC_F32_GET_##what(from_), NNCC_F32_GET_##what(other_))); \
    from_ += 4; \
    other_ += 4; \
    to_ += 4
#define NNCC_F32_ADD_STEP(what) NNCC_F32_ROWS_STEP(what, vaddq_f32)
#define NNCC_F32_SUB_STEP(what) NNCC_F32_ROWS_STEP(what, vsubq_f32)
#define NNCC_F32_MUL_STEP(what) NNCC_F32_ROWS_STEP(what, vmulq_f32)
#define NNCC_F32_ROWS_OF(op, a, b, y, n, i) \
    do { \
        const float *from_ = (a); \
        const float *other_ = (b); \
        float *to_ = (y); \
        NNCC_F32_STEPS(n, op); \
        (i) = (n); \
    } while (0)

#elif NNCC_F32_FPU_ASM

#define NNCC_F32_ROWS_OF(op, a, b, y, n, i) \
    do { \
        const float *from_ = (a); \
        const float *other_ = (b); \
        float *to_ = (y); \
        int32_t blocks_ = (n) / NNCC_F32_EIGHT; \
        (i) = blocks_ * NNCC_F32_EIGHT; \
        if (blocks_ > 0) { \
            __asm volatile("1:\n" \
                           "vldmia %[from]!, {s0-s7}\n" \
                           "vldmia %[other]!, {s8-s15}\n" \
                           op " s0, s0, s8\n" \
                           op " s1, s1, s9\n" \
                           op " s2, s2, s10\n" \
                           op " s3, s3, s11\n" \
                           op " s4, s4, s12\n" \
                           op " s5, s5, s13\n" \
                           op " s6, s6, s14\n" \
                           op " s7, s7, s15\n" \
                           "subs %[blocks], #1\n" \
                           "vstmia %[to]!, {s0-s7}\n" \
                           "bne 1b\n" \
                           : [from] "+r"(from_), [other] "+r"(other_), [to] "+r"(to_), [blocks] "+r"(blocks_) \
                           : \
                           : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", \
                             "s14", "s15", "cc", "memory"); \
        } \
    } while (0)

#elif NNCC_F32_FPU

/* The larger one; NaN wins. One comparison, as in assembly: a sum with NaN is NaN. */
#define NNCC_F32_LARGER(a, y) y = isunordered(a, y) ? (y) + (a) : (isgreater(a, y) ? (a) : (y))
#define NNCC_F32_ROWS_NEXT(i) \
    do { \
        from_ += i; \
        other_ += i; \
        to_ += i; \
    } while (0)
#if NNCC_F32_HELD
/*
 * As in nncc_f32_held.h, by a call for eight values: a loop with ways out for both rows and for results takes as many
 * instructions, and more around it.
 */
#define NNCC_F32_EIGHT_RESULTS(op) a0 op b0, a1 op b1, a2 op b2, a3 op b3, a4 op b4, a5 op b5, a6 op b6, a7 op b7
NNCC_APART static inline void nncc_f32_put8(NNCC_F32_EIGHT_ARGS(a), float *y)
{
    NNCC_F32_STORE8(y, a);
}

NNCC_APART static inline void nncc_f32_add8(NNCC_F32_EIGHT_ARGS(a), NNCC_F32_EIGHT_ARGS(b), float *y)
{
    nncc_f32_put8(NNCC_F32_EIGHT_RESULTS(+), y);
}

NNCC_APART static inline void nncc_f32_sub8(NNCC_F32_EIGHT_ARGS(a), NNCC_F32_EIGHT_ARGS(b), float *y)
{
    nncc_f32_put8(NNCC_F32_EIGHT_RESULTS(-), y);
}

NNCC_APART static inline void nncc_f32_mul8(NNCC_F32_EIGHT_ARGS(a), NNCC_F32_EIGHT_ARGS(b), float *y)
{
    nncc_f32_put8(NNCC_F32_EIGHT_RESULTS(*), y);
}

NNCC_APART static inline void nncc_f32_max8(NNCC_F32_EIGHT_ARGS(a), NNCC_F32_EIGHT_ARGS(b), float *y)
{
    NNCC_F32_LARGER(a0, b0);
    NNCC_F32_LARGER(a1, b1);
    NNCC_F32_LARGER(a2, b2);
    NNCC_F32_LARGER(a3, b3);
    NNCC_F32_LARGER(a4, b4);
    NNCC_F32_LARGER(a5, b5);
    NNCC_F32_LARGER(a6, b6);
    NNCC_F32_LARGER(a7, b7);
    nncc_f32_put8(b0, b1, b2, b3, b4, b5, b6, b7, y);
}

#define NNCC_F32_ADD_STEP nncc_f32_add8
#define NNCC_F32_SUB_STEP nncc_f32_sub8
#define NNCC_F32_MUL_STEP nncc_f32_mul8
#define NNCC_F32_EIGHT_AT(p) (p)[0], (p)[1], (p)[2], (p)[3], (p)[4], (p)[5], (p)[6], (p)[7]
#define NNCC_F32_EIGHT_BY(op, i) op(NNCC_F32_EIGHT_AT(from_ + (i)), NNCC_F32_EIGHT_AT(other_ + (i)), to_ + (i))
#define NNCC_F32_ROWS_OF(op, a, b, y, n, i) \
    do { \
        const float *from_ = (a); \
        const float *other_ = (b); \
        float *to_ = (y); \
        for (int32_t left_ = (n) >> 5; left_ > 0; left_--) { \
            NNCC_F32_EIGHT_BY(op, 0); \
            NNCC_F32_EIGHT_BY(op, 8); \
            NNCC_F32_EIGHT_BY(op, 16); \
            NNCC_F32_EIGHT_BY(op, 24); \
            NNCC_F32_ROWS_NEXT(32); \
        } \
        for (int32_t left_ = ((n)&31) >> 3; left_ > 0; left_--) { \
            NNCC_F32_EIGHT_BY(op, 0); \
            NNCC_F32_ROWS_NEXT(8); \
        } \
        (i) = (n) & ~7; \
    } while (0)
#else
#define NNCC_F32_ROWS_STEP(i, op) \
    do { \
        float k_, l_; \
        nncc_f32_pair v_; \
        NNCC_F32_GET(v_, from_ + (i)); \
        NNCC_F32_PAIR(other_ + (i), k_, l_); \
        v_.f[0] = v_.f[0] op k_; \
        v_.f[1] = v_.f[1] op l_; \
        NNCC_F32_PUT_BOTH(to_ + (i), v_); \
    } while (0)
#define NNCC_F32_ADD_STEP(i) NNCC_F32_ROWS_STEP(i, +)
#define NNCC_F32_SUB_STEP(i) NNCC_F32_ROWS_STEP(i, -)
#define NNCC_F32_MUL_STEP(i) NNCC_F32_ROWS_STEP(i, *)
#define NNCC_F32_ROWS_OF(op, a, b, y, n, i) \
    do { \
        const float *from_ = (a); \
        const float *other_ = (b); \
        float *to_ = (y); \
        NNCC_F32_ALL_PAIRS(n, op, NNCC_F32_ROWS_NEXT); \
        (i) = (n) & ~1; \
    } while (0)
#endif

#else

#define NNCC_F32_ROWS_OF(op, a, b, y, n, i) (void)(i)

#endif
/* clang-format on */

/* y = a + b. y may be a or b. */
NNCC_F32_LOOP void nncc_f32_add_rows(const float *a, const float *b, float *y, int32_t n)
{
    int32_t i = 0;

    NNCC_F32_ROWS_OF(NNCC_F32_OP("vadd.f32", NNCC_F32_ADD_STEP), a, b, y, n, i);
    for (; i < n; i++) {
        y[i] = a[i] + b[i];
    }
}

/* y = a - b. y may be a or b. */
NNCC_F32_LOOP void nncc_f32_sub_rows(const float *a, const float *b, float *y, int32_t n)
{
    int32_t i = 0;

    NNCC_F32_ROWS_OF(NNCC_F32_OP("vsub.f32", NNCC_F32_SUB_STEP), a, b, y, n, i);
    for (; i < n; i++) {
        y[i] = a[i] - b[i];
    }
}

/* y = a * b. y may be a or b. */
NNCC_F32_LOOP void nncc_f32_mul_rows(const float *a, const float *b, float *y, int32_t n)
{
    int32_t i = 0;

    NNCC_F32_ROWS_OF(NNCC_F32_OP("vmul.f32", NNCC_F32_MUL_STEP), a, b, y, n, i);
    for (; i < n; i++) {
        y[i] = a[i] * b[i];
    }
}

/* y is v. */
static inline void nncc_f32_set_rows(float v, float *y, int32_t n)
{
#if NNCC_F32_MVE && !NNCC_F32_MVE_ASM
    const float32x4_t w = vdupq_n_f32(v);

    for (int32_t k = n >> 2; k > 0; k--) {
        vstrwq_f32(y, w);
        y += 4;
    }
    if ((n & 3) != 0) {
        vstrwq_p_f32(y, w, vctp32q((uint32_t)n & 3u));
    }
#else
    for (int32_t c = 0; c < n; c++) {
        y[c] = v;
    }
#endif
}

/* y is the larger of a and y; NaN wins. */
NNCC_F32_LOOP void nncc_f32_max_rows(const float *a, float *y, int32_t n)
{
    int32_t i = 0;

    /* clang-format off */
#if NNCC_F32_MVE_ASM
    {
        float *to = y;
        __asm volatile("wlstp.32 lr, %[left], 2f\n"
                       "1:\n"
                       "vldrw.32 q0, [%[to]]\n"
                       "vldrw.32 q1, [%[from]], #16\n"
                       "vpt.f32 gt, q1, q0\n"
                       "vorrt q0, q1, q1\n"
                       "vpt.f32 ne, q1, q1\n"
                       "vorrt q0, q1, q1\n"
                       "vstrw.32 q0, [%[to]], #16\n"
                       "letp lr, 1b\n"
                       "2:\n"
                       : [from] "+r"(a), [to] "+r"(to)
                       : [left] "r"(n)
                       : "q0", "q1", "lr", "cc", "memory");
        i = n;
    }
#elif NNCC_F32_MVE
/* GCC moves each predicate that selects through core registers: both become one there. */
#if defined(__clang__)
#define NNCC_F32_LARGER(u, v) vpselq_f32(v, vpselq_f32(v, u, vcmpgtq_f32(v, u)), vcmpneq_f32(v, v))
#else
#define NNCC_F32_LARGER(u, v) vpselq_f32(v, u, (mve_pred16_t)(vcmpgtq_f32(v, u) | vcmpneq_f32(v, v)))
#endif
#define NNCC_F32_MAX_STEP(what) \
    const float32x4_t u = NNCC_F32_GET_##what(to), v = NNCC_F32_GET_##what(a); \
    NNCC_F32_PUT_##what(to, NNCC_F32_LARGER(u, v)); \
    a += 4; \
    to += 4
    {
        float *to = y;
#if !defined(__clang__)
        if (n >= 4) { /* the last four first, and again: no pointer is wanted behind the loop */
            const float32x4_t p = vldrwq_f32(y + n - 4), q = vldrwq_f32(a + n - 4);

            vstrwq_f32(y + n - 4, NNCC_F32_LARGER(p, q));
            for (int32_t k = (n - 1) >> 2; k > 0; k--) {
                NNCC_F32_MAX_STEP(ALL);
            }
            return;
        }
#endif
        NNCC_F32_STEPS(n, NNCC_F32_MAX_STEP);
        i = n;
    }
#elif NNCC_F32_FPU_ASM
/* A sum with NaN is NaN. */
#define NNCC_F32_LARGER(a, y) \
    "vcmp.f32 " a ", " y "\nvmrs APSR_nzcv, fpscr\nit gt\nvmovgt.f32 " y ", " a "\n" \
    "it vs\nvaddvs.f32 " y ", " y ", " a "\n"
    for (; n - i >= NNCC_F32_EIGHT; i += NNCC_F32_EIGHT) {
        __asm volatile("vldmia %[from]!, {s0-s7}\n"
                       "vldmia %[to], {s8-s15}\n"
                       NNCC_F32_LARGER("s0", "s8")
                       NNCC_F32_LARGER("s1", "s9")
                       NNCC_F32_LARGER("s2", "s10")
                       NNCC_F32_LARGER("s3", "s11")
                       NNCC_F32_LARGER("s4", "s12")
                       NNCC_F32_LARGER("s5", "s13")
                       NNCC_F32_LARGER("s6", "s14")
                       NNCC_F32_LARGER("s7", "s15")
                       "vstmia %[to], {s8-s15}\n"
                       : [from] "+r"(a)
                       : [to] "r"(y + i)
                       : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13",
                         "s14", "s15", "cc", "memory");
    }
    a -= i;
#elif NNCC_F32_FPU
#if NNCC_F32_HELD
    NNCC_F32_ROWS_OF(nncc_f32_max8, a, y, y, n, i);
#else
#define NNCC_F32_MAX_STEP(o) \
    do { \
        float k, l, u, v; \
        NNCC_F32_PAIR(y + (o), u, v); \
        NNCC_F32_PAIR(a + (o), k, l); \
        NNCC_F32_LARGER(k, u); \
        NNCC_F32_LARGER(l, v); \
        y[o] = u; \
        y[(o) + 1] = v; \
    } while (0)
#define NNCC_F32_MAX_NEXT(o) \
    do { \
        a += o; \
        y += o; \
    } while (0)
    NNCC_F32_ALL_PAIRS(n, NNCC_F32_MAX_STEP, NNCC_F32_MAX_NEXT);
    n &= 1;
#endif
#endif
    /* clang-format on */
    for (; i < n; i++) {
        if (a[i] > y[i] || a[i] != a[i]) {
            y[i] = a[i];
        }
    }
}

/* y = x[0] * w[0] + ... + x[3] * w[3], one product after the other, fused where a core has the instruction. */
NNCC_F32_LOOP void nncc_f32_blend_rows(const float *const *x, const float *w, float *y, int32_t n)
{
    const float *x0 = x[0];
    const float *x1 = x[1];
    const float *x2 = x[2];
    const float *x3 = x[3];
    int32_t i = 0;

    /* clang-format off */
#if NNCC_F32_MVE_ASM
    {
        int32_t w0;
        int32_t w1;
        int32_t w2;
        int32_t w3;
        __asm volatile("ldrd %[w0], %[w1], [%[w]]\n"
                       "ldrd %[w2], %[w3], [%[w], #8]\n"
                       "wlstp.32 lr, %[left], 2f\n"
                       "1:\n"
                       "vldrw.32 q0, [%[x0]], #16\n"
                       "vmul.f32 q0, q0, %[w0]\n"
                       "vldrw.32 q1, [%[x1]], #16\n"
                       "vfma.f32 q0, q1, %[w1]\n"
                       "vldrw.32 q2, [%[x2]], #16\n"
                       "vfma.f32 q0, q2, %[w2]\n"
                       "vldrw.32 q1, [%[x3]], #16\n"
                       "vfma.f32 q0, q1, %[w3]\n"
                       "vstrw.32 q0, [%[to]], #16\n"
                       "letp lr, 1b\n"
                       "2:\n"
                       : [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2), [x3] "+r"(x3), [to] "+r"(y), [w0] "=&r"(w0),
                         [w1] "=&r"(w1), [w2] "=&r"(w2), [w3] "=&r"(w3)
                       : [left] "r"(n), [w] "r"(w)
                       : "q0", "q1", "q2", "lr", "cc", "memory");
        i = n;
    }
#elif NNCC_F32_MVE
#define NNCC_F32_BLEND_STEP(what) \
    float32x4_t v = vmulq_n_f32(NNCC_F32_GET_##what(x0), w0); \
    v = vfmaq_n_f32(v, NNCC_F32_GET_##what(x1), w1); \
    v = vfmaq_n_f32(v, NNCC_F32_GET_##what(x2), w2); \
    v = vfmaq_n_f32(v, NNCC_F32_GET_##what(x3), w3); \
    NNCC_F32_PUT_##what(y, v); \
    x0 += 4; \
    x1 += 4; \
    x2 += 4; \
    x3 += 4; \
    y += 4
    {
        const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
        NNCC_F32_STEPS(n, NNCC_F32_BLEND_STEP);
        i = n;
    }
#elif NNCC_F32_FPU_ASM
#define NNCC_F32_EIGHT_OF(op, w) \
    op " s0, s8, " w "\n" op " s1, s9, " w "\n" op " s2, s10, " w "\n" op " s3, s11, " w "\n" \
    op " s4, s12, " w "\n" op " s5, s13, " w "\n" op " s6, s14, " w "\n" op " s7, s15, " w "\n"
    for (; n - i >= NNCC_F32_EIGHT; i += NNCC_F32_EIGHT) {
        __asm volatile("vldmia %[w], {s16-s19}\n"
                       "vldmia %[x0]!, {s8-s15}\n"
                       NNCC_F32_EIGHT_OF("vmul.f32", "s16")
                       "vldmia %[x1]!, {s8-s15}\n"
                       NNCC_F32_EIGHT_OF("vfma.f32", "s17")
                       "vldmia %[x2]!, {s8-s15}\n"
                       NNCC_F32_EIGHT_OF("vfma.f32", "s18")
                       "vldmia %[x3]!, {s8-s15}\n"
                       NNCC_F32_EIGHT_OF("vfma.f32", "s19")
                       "vstmia %[to]!, {s0-s7}\n"
                       : [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2), [x3] "+r"(x3), [to] "+r"(y)
                       : [w] "r"(w)
                       : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13",
                         "s14", "s15", "s16", "s17", "s18", "s19", "cc", "memory");
    }
#elif NNCC_F32_FPU
#define NNCC_F32_BLEND_TERM(x, o, w) \
    do { \
        float k, l; \
        NNCC_F32_PAIR((x) + (o), k, l); \
        v.f[0] = fmaf(k, w, v.f[0]); \
        v.f[1] = fmaf(l, w, v.f[1]); \
    } while (0)
#define NNCC_F32_BLEND_STEP(o) \
    do { \
        nncc_f32_pair v; \
        NNCC_F32_GET(v, x0 + (o)); \
        v.f[0] *= w0; \
        v.f[1] *= w0; \
        NNCC_F32_BLEND_TERM(x1, o, w1); \
        NNCC_F32_BLEND_TERM(x2, o, w2); \
        NNCC_F32_BLEND_TERM(x3, o, w3); \
        NNCC_F32_PUT_BOTH(y + (o), v); \
    } while (0)
#define NNCC_F32_BLEND_NEXT(o) \
    do { \
        x0 += o; \
        x1 += o; \
        x2 += o; \
        x3 += o; \
        y += o; \
    } while (0)
    {
        const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
        NNCC_F32_ALL_PAIRS(n, NNCC_F32_BLEND_STEP, NNCC_F32_BLEND_NEXT);
        i = n & ~1;
    }
#endif
    /* clang-format on */
    for (; i < n; i++) {
#if NNCC_F32_FPU
        *y++ = fmaf(*x3++, w[3], fmaf(*x2++, w[2], fmaf(*x1++, w[1], *x0++ * w[0])));
#else
        const float s = *x0++ * w[0] + *x1++ * w[1];

        *y++ = s + *x2++ * w[2] + *x3++ * w[3];
#endif
    }
}

/* y = x within [lo, hi]; NaN stays. */
NNCC_F32_LOOP void nncc_f32_clip_rows(const float *x, float lo, float hi, float *y, int32_t n)
{
    int32_t i = 0;

    /* clang-format off */
#if NNCC_F32_MVE_ASM
    {
        float *to = y;
        __asm volatile("vdup.32 q1, %[lo]\n"
                       "wlstp.32 lr, %[left], 2f\n"
                       "1:\n"
                       "vldrw.32 q0, [%[x]], #16\n"
                       NNCC_F32_BELOW_MVE("q0", "q1")
                       NNCC_F32_ABOVE_MVE("q0", "%[hi]")
                       "vstrw.32 q0, [%[to]], #16\n"
                       "letp lr, 1b\n"
                       "2:\n"
                       : [x] "+r"(x), [to] "+r"(to)
                       : [left] "r"(n), [lo] "r"(lo), [hi] "r"(hi)
                       : "q0", "q1", "lr", "cc", "memory");
        i = n;
    }
#elif NNCC_F32_MVE
#define NNCC_F32_CLIP_STEP(what) \
    float32x4_t v = NNCC_F32_GET_##what(x); \
    v = NNCC_F32_BELOW_Q(v, least); \
    v = vpselq_f32(most, v, vcmpgtq_f32(v, most)); \
    NNCC_F32_PUT_##what(to, v); \
    x += 4; \
    to += 4
    {
        const float32x4_t least = vdupq_n_f32(lo), most = vdupq_n_f32(hi);
        float *to = y;
        NNCC_F32_WHOLE_STEPS(n, NNCC_F32_CLIP_STEP); /* comparisons: no LETP by clang */
        i = n;
    }
#elif NNCC_F32_FPU_ASM
#define NNCC_F32_LIMITED(a, x, which) \
    "vcmp.f32 " a ", " x "\nvmrs APSR_nzcv, fpscr\nit " which "\nvmov" which ".f32 " a ", " x "\n"
#define NNCC_F32_EIGHT_LIMITED(x, which) \
    NNCC_F32_LIMITED("s0", x, which) NNCC_F32_LIMITED("s1", x, which) NNCC_F32_LIMITED("s2", x, which) \
    NNCC_F32_LIMITED("s3", x, which) NNCC_F32_LIMITED("s4", x, which) NNCC_F32_LIMITED("s5", x, which) \
    NNCC_F32_LIMITED("s6", x, which) NNCC_F32_LIMITED("s7", x, which)
    for (; n - i >= NNCC_F32_EIGHT; i += NNCC_F32_EIGHT) {
        int32_t above = hi < INFINITY ? 1 : 0;
        __asm volatile("vldmia %[x], {s0-s7}\n"
                       "vmov s8, %[lo]\n"
                       NNCC_F32_EIGHT_LIMITED("s8", "mi")
                       "cmp %[above], #0\n"
                       "beq 1f\n"
                       "vmov s8, %[hi]\n"
                       NNCC_F32_EIGHT_LIMITED("s8", "gt")
                       "1:\n"
                       "vstmia %[to], {s0-s7}\n"
                       :
                       : [x] "r"(x + i), [to] "r"(y + i), [lo] "r"(lo), [hi] "r"(hi), [above] "r"(above)
                       : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "cc", "memory");
    }
#elif NNCC_F32_FPU
#define NNCC_F32_LOWER_STEP(o) \
    do { \
        nncc_f32_pair v; \
        NNCC_F32_GET(v, x + (o)); \
        NNCC_F32_BELOW(v.f[0], lo); \
        NNCC_F32_BELOW(v.f[1], lo); \
        NNCC_F32_PUT_BOTH(y + (o), v); \
    } while (0)
#define NNCC_F32_CLIP_STEP(o) \
    do { \
        nncc_f32_pair v; \
        NNCC_F32_GET(v, x + (o)); \
        NNCC_F32_BELOW(v.f[0], lo); \
        NNCC_F32_BELOW(v.f[1], lo); \
        NNCC_F32_ABOVE(v.f[0], hi); \
        NNCC_F32_ABOVE(v.f[1], hi); \
        NNCC_F32_PUT_BOTH(y + (o), v); \
    } while (0)
#define NNCC_F32_CLIP_NEXT(o) \
    do { \
        x += o; \
        y += o; \
    } while (0)
    if (hi < INFINITY) {
        NNCC_F32_ALL_PAIRS(n, NNCC_F32_CLIP_STEP, NNCC_F32_CLIP_NEXT);
    } else {
        NNCC_F32_ALL_PAIRS(n, NNCC_F32_LOWER_STEP, NNCC_F32_CLIP_NEXT);
    }
    n &= 1;
#endif
    /* clang-format on */
    for (; i < n; i++) {
        const float v = x[i] < lo ? lo : x[i];

        y[i] = v > hi ? hi : v;
    }
}

#endif /* NNCC_F32_ROWS_H */
