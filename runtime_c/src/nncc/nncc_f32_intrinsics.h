/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_intrinsics.h: runs of inputs for the inner functions of the packed float32 products without assembly: on
 * Helium in intrinsics, for an FPU in C (nncc_f32_sums.h); the same sums in the same order as in assembly. Four inputs
 * a turn: pointers take an addition each.
 */
#include "nncc_f32_job.h"

#include <string.h>

#if NNCC_F32_C

/*
 * All runs of a job: FOUR takes four inputs, TWO two, ONE the last of an odd number, SKIP moves the pixels on by so
 * many bytes; w is weights of records that are as many bytes as those of 8 channels, over `part`. Nothing is skipped
 * behind the last run. What a job says is volatile: it is loaded where it is used, registers are for sums and pixels.
 */
#define NNCC_F32_RUNS(four, two, one, skip, part) \
    do { \
        const volatile nncc_f32_job *const job = t; \
        int32_t planes = job->planes; \
\
        do { \
            int32_t rows = job->rows; \
\
            do { \
                const int32_t steps = job->steps; \
\
                for (int32_t n = steps >> 1; n > 0; n--) { \
                    four; \
                } \
                if ((steps & 1) != 0) { \
                    two; \
                } \
                if (job->odd != 0) { \
                    one; \
                } \
                rows--; \
                if (rows > 0) { \
                    skip(job->x_skip); \
                    w = nncc_f32_bytes(w, job->w_skip / (part)); \
                } \
            } while (rows > 0); \
            planes--; \
            if (planes > 0) { \
                skip(job->x_skip + job->x_plane); \
                w = nncc_f32_bytes(w, (job->w_skip + job->w_plane) / (part)); \
            } \
        } while (planes > 0); \
    } while (0)
#define NNCC_F32_SKIP1(bytes) x0 = nncc_f32_bytes(x0, bytes)
#define NNCC_F32_SKIP3(bytes) \
    do { \
        const int32_t by = bytes; \
\
        x0 = nncc_f32_bytes(x0, by); \
        x1 = nncc_f32_bytes(x1, by); \
        x2 = nncc_f32_bytes(x2, by); \
    } while (0)

/* What w is biased by, floats: GCC would copy it for an offset of 0 and move the copy. */
#define NNCC_F32_W_BIAS 4

/* Two floats of a pixel by one LDRD: GCC and Clang make it of 64 bits that are not split. */
#if defined(__clang__)
typedef const volatile uint64_t __attribute__((aligned(4), may_alias)) nncc_f32_two;
#elif defined(__GNUC__)
typedef const uint64_t __attribute__((may_alias)) nncc_f32_two;
#endif
#if defined(__GNUC__)
#define NNCC_F32_LOAD_TWO(p, a, b) \
    do { \
        const uint64_t both = *(nncc_f32_two *)(const void *)(p); \
\
        memcpy(&(a), &both, sizeof(float)); \
        memcpy(&(b), (const char *)&both + sizeof(float), sizeof(float)); \
    } while (0)
#else
#define NNCC_F32_LOAD_TWO(p, a, b) \
    do { \
        (a) = (p)[0]; \
        (b) = (p)[1]; \
    } while (0)
#endif

/* Input i, and inputs i and i+1. */
#define NNCC_F32_INPUT3(of, i) \
    do { \
        const float s0 = x0[i], s1 = x1[i], s2 = x2[i]; \
\
        of(i, s0, s1, s2); \
    } while (0)
#define NNCC_F32_INPUT1(of, i) \
    do { \
        const float s = x0[i]; \
\
        of(i, s); \
    } while (0)
#define NNCC_F32_INPUTS1(of, i) \
    do { \
        float s, u; \
\
        NNCC_F32_LOAD_TWO(x0 + (i), s, u); \
        of(i, s); \
        of((i) + 1, u); \
    } while (0)
#define NNCC_F32_NEXT3(n, lanes) \
    do { \
        x0 += n; \
        x1 += n; \
        x2 += n; \
        w += (n) * (lanes); \
    } while (0)
#define NNCC_F32_NEXT1(n, lanes) \
    do { \
        x0 += n; \
        w += (n) * (lanes); \
    } while (0)
#define NNCC_F32_FOUR(of, pixels, lanes) \
    do { \
        NNCC_F32_INPUTS##pixels(of, 0); \
        NNCC_F32_INPUTS##pixels(of, 2); \
        NNCC_F32_NEXT##pixels(4, lanes); \
    } while (0)
#define NNCC_F32_TWO(of, pixels, lanes) \
    do { \
        NNCC_F32_INPUTS##pixels(of, 0); \
        NNCC_F32_NEXT##pixels(2, lanes); \
    } while (0)
#define NNCC_F32_ONE(of, pixels, lanes) \
    do { \
        NNCC_F32_INPUT##pixels(of, 0); \
        NNCC_F32_NEXT##pixels(1, lanes); \
    } while (0)
#define NNCC_F32_ALL(of, pixels, lanes) \
    NNCC_F32_RUNS(NNCC_F32_FOUR(of, pixels, lanes), NNCC_F32_TWO(of, pixels, lanes), NNCC_F32_ONE(of, pixels, lanes), \
                  NNCC_F32_SKIP##pixels, 8 / (lanes))

#if NNCC_F32_MVE

/* Sums + weights * input. */
#define NNCC_F32_FMA(a, k, x) a = vfmaq_n_f32(a, k, x)

/* The limits of 8 channels; there are some. */
NNCC_F32_INLINED void nncc_f32_limit(const nncc_f32_job *t, float32x4_t *a, float32x4_t *b)
{
    nncc_f32_below(a, t->lo);
    nncc_f32_below(b, t->lo);
    if (t->limits == NNCC_F32_BOTH) {
        nncc_f32_above(a, t->hi);
        nncc_f32_above(b, t->hi);
    }
}

/* Weights i of 8 channels, or of 4, times an input of 3 pixels or of one. */
#define NNCC_F32_OF8(i, s0, s1, s2) \
    do { \
        float32x4_t k = vldrwq_f32(w + NNCC_F32_W_BIAS + 8 * (i)); \
\
        NNCC_F32_FMA(a0, k, s0); \
        NNCC_F32_FMA(a1, k, s1); \
        NNCC_F32_FMA(a2, k, s2); \
        k = vldrwq_f32(w + NNCC_F32_W_BIAS + 8 * (i) + 4); \
        NNCC_F32_FMA(b0, k, s0); \
        NNCC_F32_FMA(b1, k, s1); \
        NNCC_F32_FMA(b2, k, s2); \
    } while (0)
#define NNCC_F32_OF4(i, s0, s1, s2) \
    do { \
        const float32x4_t k = vldrwq_f32(w + NNCC_F32_W_BIAS + 4 * (i)); \
\
        NNCC_F32_FMA(a0, k, s0); \
        NNCC_F32_FMA(a1, k, s1); \
        NNCC_F32_FMA(a2, k, s2); \
    } while (0)
#define NNCC_F32_OF8X1(i, s) \
    do { \
        NNCC_F32_FMA(a0, vldrwq_f32(w + NNCC_F32_W_BIAS + 8 * (i)), s); \
        NNCC_F32_FMA(b0, vldrwq_f32(w + NNCC_F32_W_BIAS + 8 * (i) + 4), s); \
    } while (0)
#define NNCC_F32_OF4X1(i, s) NNCC_F32_FMA(a0, vldrwq_f32(w + NNCC_F32_W_BIAS + 4 * (i)), s)

/* Inputs i and i+1 of 3 pixels. */
#define NNCC_F32_INPUTS3(of, i) \
    do { \
        float s0, s1, s2, u0, u1, u2; \
\
        NNCC_F32_LOAD_TWO(x0 + (i), s0, u0); \
        NNCC_F32_LOAD_TWO(x1 + (i), s1, u1); \
        NNCC_F32_LOAD_TWO(x2 + (i), s2, u2); \
        of(i, s0, s1, s2); \
        of((i) + 1, u0, u1, u2); \
    } while (0)

#endif

#endif
