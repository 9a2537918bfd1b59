/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_dense.h: packed float32 products on Helium, in assembly, where the inputs of a pixel are one run of memory
 * and pixels are equally far apart: 1x1 convolutions and matrices. Three pixels by all records of 8 channels, the last
 * of which may be of 5 to 8; 1 to 4 more channels have pixels in the lanes. Sums are those of nncc_f32_wide.h.
 * Instructions: 20 for 48 products, 33 a record of three pixels, 24 for three pixels; in lanes 7 for 8 products of one
 * channel, 9 for 16 of two, 8 for 16 of four.
 */
#include "nncc_f32_wide.h"

#if NNCC_F32_MVE_ASM

/* Pixels in a row from which on it takes fewer instructions. */
#define NNCC_F32_DENSE_PIXELS 3

/* The assembly knows the offsets. Steps are in bytes. */
typedef struct
{
    int32_t steps, odd;     /* 0: two inputs of a pixel, and whether one is left */
    int32_t limits;         /* 8: NNCC_F32_NO_LIMIT ... */
    float lo, hi;           /* 12 */
    int32_t records;        /* 20: at least 1 */
    int32_t lanes;          /* 24: channels of the upper half of the last record */
    int32_t row;            /* 28: inputs of a pixel */
    const float *w;         /* 32 */
    int32_t left;           /* 36: records */
    int32_t x_next, y_next; /* 40: from a pixel to the third after it; from behind its last record to the same */
    float *y[3];            /* 48: where the results of the next record go */
    int32_t triples;        /* 60: at least 1 */
} nncc_f32_dense;

/* The limits of two vectors. */
NNCC_INLINED void nncc_f32_dense_limit(const nncc_f32_dense *t, float32x4_t *a, float32x4_t *b)
{
    if (t->limits != NNCC_F32_NO_LIMIT) {
        nncc_f32_below(a, t->lo);
        nncc_f32_below(b, t->lo);
        if (t->limits == NNCC_F32_BOTH) {
            nncc_f32_above(a, t->hi);
            nncc_f32_above(b, t->hi);
        }
    }
}

/* clang-format off */
static inline void nncc_f32_dense_triples(nncc_f32_dense *t, const float *const *x)
{
    const float *x0 = x[0];
    const float *x1 = x[1];
    const float *x2 = x[2];
    const float *w;
    int32_t row = t->row;
    int32_t s;
    int32_t s0;
    int32_t s1;
    int32_t s2;

    __asm volatile("8:\n"
                   "ldr %[s], [%[t], #20]\n"
                   "ldr %[w], [%[t], #32]\n"
                   "str %[s], [%[t], #36]\n"
                   "7:\n"
                   "vldrw.32 q0, [%[w]], #16\n"
                   "ldr %[s], [%[t]]\n"
                   "vldrw.32 q1, [%[w]], #16\n"
                   "vmov q2, q0\n"
                   "vmov q3, q1\n"
                   "vmov q4, q0\n"
                   "vmov q5, q1\n"
                   "wls lr, %[s], 3f\n"
                   "1:\n"
                   NNCC_F32_TWO_OF_3
                   "le lr, 1b\n"
                   "3:\n"
                   "ldr %[s], [%[t], #4]\n"
                   "cbz %[s], 4f\n"
                   NNCC_F32_ONE_OF_3
                   "4:\n"
                   "ldr %[s], [%[t], #8]\n"
                   "sub %[x0], %[row]\n"
                   "sub %[x1], %[row]\n"
                   "sub %[x2], %[row]\n"
                   "cbz %[s], 6f\n"
                   "ldrd %[s0], %[s1], [%[t], #12]\n"
                   "vdup.32 q6, %[s0]\n"
                   NNCC_F32_LIMIT6(NNCC_F32_BELOW_MVE, "q6")
                   "cmp %[s], #1\n"
                   "beq 6f\n"
                   NNCC_F32_LIMIT6(NNCC_F32_ABOVE_MVE, "%[s1]")
                   "6:\n"
                   "ldrd %[s0], %[s1], [%[t], #48]\n"
                   "ldr %[s2], [%[t], #56]\n"
                   "ldr %[s], [%[t], #36]\n"
                   "vstrw.32 q0, [%[s0]], #16\n"
                   "vstrw.32 q2, [%[s1]], #16\n"
                   "vstrw.32 q4, [%[s2]], #16\n"
                   "subs %[s], #1\n"
                   "beq 9f\n"
                   "vstrw.32 q1, [%[s0]], #16\n"
                   "vstrw.32 q3, [%[s1]], #16\n"
                   "vstrw.32 q5, [%[s2]], #16\n"
                   "str %[s], [%[t], #36]\n"
                   "strd %[s0], %[s1], [%[t], #48]\n"
                   "str %[s2], [%[t], #56]\n"
                   "b 7b\n"
                   "9:\n"
                   "ldr %[s], [%[t], #24]\n"
                   "vctp.32 %[s]\n"
                   "ldr %[s], [%[t], #44]\n"
                   "vpsttt\n"
                   "vstrwt.32 q1, [%[s0]], #16\n"
                   "vstrwt.32 q3, [%[s1]], #16\n"
                   "vstrwt.32 q5, [%[s2]], #16\n"
                   "add %[s0], %[s]\n"
                   "add %[s1], %[s]\n"
                   "add %[s2], %[s]\n"
                   "strd %[s0], %[s1], [%[t], #48]\n"
                   "str %[s2], [%[t], #56]\n"
                   "ldr %[s0], [%[t], #60]\n"
                   "ldr %[s], [%[t], #40]\n"
                   "subs %[s0], #1\n"
                   "str %[s0], [%[t], #60]\n"
                   "add %[x0], %[s]\n"
                   "add %[x1], %[s]\n"
                   "add %[x2], %[s]\n"
                   "bne 8b\n"
                   : [s] "=&l"(s), [s0] "=&r"(s0), [s1] "=&r"(s1), [s2] "=&r"(s2), [w] "=&r"(w), [x0] "+r"(x0),
                     [x1] "+r"(x1), [x2] "+r"(x2), [row] "+r"(row)
                   : [t] "r"(t)
                   : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
}
/* clang-format on */

/* One run of inputs of one or two channels of 8 pixels, at x and two vectors of offsets, and of four channels of 4. */
/* clang-format off */
#define NNCC_F32_LANES8(at, record, n, weights, second, fourth) \
    do { \
        const float *in = at; \
        const float *each = record; \
        int32_t s; \
        int32_t s0; \
\
        __asm volatile("wls lr, %[count], 2f\n" \
                       "1:\n" \
                       "vldrw.u32 %q[v0], [%[in], %q[o0], uxtw #2]\n" \
                       weights "[%[w]], #16\n" \
                       "vfma.f32 %q[a0], %q[v0], %[s]\n" \
                       "vldrw.u32 %q[v1], [%[in], %q[o1], uxtw #2]\n" \
                       second \
                       "add %[in], #4\n" \
                       "vfma.f32 %q[a1], %q[v1], %[s]\n" \
                       fourth \
                       "le lr, 1b\n" \
                       "2:\n" \
                       : [a0] "+w"(a0), [a1] "+w"(a1), [b0] "+w"(b0), [b1] "+w"(b1), [v0] "=&w"(v0), [v1] "=&w"(v1), \
                         [in] "+r"(in), [w] "+r"(each), [s] "=&r"(s), [s0] "=&r"(s0) \
                       : [o0] "w"(o0), [o1] "w"(o1), [count] "r"(n) \
                       : "lr", "cc", "memory"); \
    } while (0)
#define NNCC_F32_LANES1(at, record, n) NNCC_F32_LANES8(at, record, n, "ldr %[s], ", "", "")
#define NNCC_F32_LANES2(at, record, n) \
    NNCC_F32_LANES8(at, record, n, "ldrd %[s], %[s0], ", "vfma.f32 %q[b0], %q[v0], %[s0]\n", \
                    "vfma.f32 %q[b1], %q[v1], %[s0]\n")
#define NNCC_F32_LANES4(at, record, n) \
    do { \
        const float *in = at; \
        const float *each = record; \
\
        __asm volatile("wls lr, %[count], 2f\n" \
                       "1:\n" \
                       "vldrw.u32 %q[v0], [%[in], %q[o0], uxtw #2]\n" \
                       "ldm %[w]!, {r4, r5, r6, r8}\n" \
                       "vfma.f32 %q[a0], %q[v0], r4\n" \
                       "vfma.f32 %q[a1], %q[v0], r5\n" \
                       "add %[in], #4\n" \
                       "vfma.f32 %q[b0], %q[v0], r6\n" \
                       "vfma.f32 %q[b1], %q[v0], r8\n" \
                       "le lr, 1b\n" \
                       "2:\n" \
                       : [a0] "+w"(a0), [a1] "+w"(a1), [b0] "+w"(b0), [b1] "+w"(b1), [v0] "=&w"(v0), [in] "+r"(in), \
                         [w] "+r"(each) \
                       : [o0] "w"(o0), [count] "r"(n) \
                       : "r4", "r5", "r6", "r8", "lr", "cc", "memory"); \
    } while (0)
/* clang-format on */

/* 1 to 4 channels, by the steps of floats from a pixel to the next: behind the last pixel it is computed again. */
static void nncc_f32_dense_lanes(const nncc_f32_dense *t, int32_t channels, const float *w, const float *x,
                                 int32_t x_step, float *y, int32_t y_step, int32_t pixels)
{
    const int32_t n = 2 * t->steps + t->odd, block = channels > 2 ? 4 : 8;
    const float *const weights = w + NNCC_F32_NARROW;
    const uint32x4_t first = vidupq_n_u32(0, 1);

    for (int32_t left = pixels; left > 0; left -= block) {
        const uint32x4_t last = vdupq_n_u32((uint32_t)left - 1);
        const uint32x4_t i0 = vminq_u32(first, last), i1 = vminq_u32(vaddq_n_u32(first, 4), last);
        const uint32x4_t o0 = vmulq_n_u32(i0, (uint32_t)x_step), o1 = vmulq_n_u32(i1, (uint32_t)x_step);
        const uint32x4_t to = vmulq_n_u32(i0, (uint32_t)y_step);
        float32x4_t a0 = vdupq_n_f32(w[0]), v0;

        if (channels > 2) {
            float32x4_t a1 = vdupq_n_f32(w[1]), b0 = vdupq_n_f32(w[2]), b1 = vdupq_n_f32(w[3]);

            NNCC_F32_LANES4(x, weights, n);
            nncc_f32_dense_limit(t, &a0, &a1);
            nncc_f32_dense_limit(t, &b0, &b1);
            vstrwq_scatter_shifted_offset_f32(y, to, a0);
            vstrwq_scatter_shifted_offset_f32(y + 1, to, a1);
            vstrwq_scatter_shifted_offset_f32(y + 2, to, b0);
            if (channels > 3) {
                vstrwq_scatter_shifted_offset_f32(y + 3, to, b1);
            }
        } else {
            const uint32x4_t next = vmulq_n_u32(i1, (uint32_t)y_step);
            float32x4_t a1 = a0, b0 = vdupq_n_f32(w[1]), b1 = b0, v1;

            if (channels > 1) {
                NNCC_F32_LANES2(x, weights, n);
            } else {
                NNCC_F32_LANES1(x, weights, n);
            }
            nncc_f32_dense_limit(t, &a0, &a1);
            vstrwq_scatter_shifted_offset_f32(y, to, a0);
            vstrwq_scatter_shifted_offset_f32(y, next, a1);
            if (channels > 1) {
                nncc_f32_dense_limit(t, &b0, &b1);
                vstrwq_scatter_shifted_offset_f32(y + 1, to, b0);
                vstrwq_scatter_shifted_offset_f32(y + 1, next, b1);
            }
        }
        x += block * x_step;
        y += block * y_step;
    }
}

/* All channels of at least NNCC_F32_DENSE_PIXELS pixels. */
static inline void nncc_f32_dense_pixels(const nncc_f32_job *job, int32_t channels, int32_t inputs, const float *w,
                                         const float *x, int32_t x_step, float *y, int32_t y_step, int32_t pixels)
{
    const int32_t size = (int32_t)sizeof(float);
    const int32_t rest = channels % NNCC_F32_WIDE, narrow = rest > NNCC_F32_NARROW ? 0 : rest;
    const int32_t wide = channels - narrow, records = (wide + NNCC_F32_WIDE - 1) / NNCC_F32_WIDE;
    nncc_f32_dense t;

    t.steps = job->steps;
    t.odd = job->odd;
    t.limits = job->limits;
    t.lo = job->lo;
    t.hi = job->hi;
    t.records = records;
    t.lanes = rest > NNCC_F32_NARROW ? rest - NNCC_F32_NARROW : NNCC_F32_NARROW;
    t.row = size * (inputs - 1);
    t.w = w;
    t.x_next = 3 * size * x_step;
    t.y_next = size * (3 * y_step - NNCC_F32_WIDE * records);
    t.triples = pixels / 3;
    if (records > 0) {
        const float *from[3] = {x, x + x_step, x + 2 * x_step};

        t.y[0] = y;
        t.y[1] = y + y_step;
        t.y[2] = y + 2 * y_step;
        if (t.triples > 0) {
            nncc_f32_dense_triples(&t, from);
        }
        if (pixels % 3 != 0) { /* one or two, the last one again */
            const int32_t at = pixels - pixels % 3, second = pixels - 1;

            from[0] = x + at * x_step;
            from[1] = x + second * x_step;
            from[2] = from[1];
            t.y[0] = y + at * y_step;
            t.y[1] = y + second * y_step;
            t.y[2] = t.y[1];
            t.triples = 1;
            nncc_f32_dense_triples(&t, from);
        }
    }
    if (narrow > 0) {
        nncc_f32_dense_lanes(&t, narrow, w + wide * inputs, x, x_step, y + wide, y_step, pixels);
    }
}

#endif
