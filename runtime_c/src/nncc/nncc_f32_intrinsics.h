/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_intrinsics.h: runs of inputs for the inner functions of the packed float32 products on Helium, in
 * intrinsics: the same sums in the same order as in assembly. Four inputs a turn: pairs of them take two loads here,
 * and pointers an addition each.
 */
#ifndef NNCC_F32_INTRINSICS_H
#define NNCC_F32_INTRINSICS_H

#include "nncc_f32_job.h"

#if NNCC_F32_MVE && !NNCC_F32_MVE_ASM

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

/* What w is biased by, floats: GCC would copy it for an offset of 0 and move the copy; Clang writes it back there. */
#if defined(__clang__)
#define NNCC_F32_W_BIAS 0
#else
#define NNCC_F32_W_BIAS 4
#endif

/* Input i of 3 pixels with weights of 8 channels, or of 4. */
#define NNCC_F32_INPUT8(i) \
    do { \
        const float s0 = x0[i], s1 = x1[i], s2 = x2[i]; \
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
#define NNCC_F32_INPUT4(i) \
    do { \
        const float32x4_t k = vldrwq_f32(w + NNCC_F32_W_BIAS + 4 * (i)); \
\
        NNCC_F32_FMA(a0, k, x0[i]); \
        NNCC_F32_FMA(a1, k, x1[i]); \
        NNCC_F32_FMA(a2, k, x2[i]); \
    } while (0)
#define NNCC_F32_INPUT8X1(i) \
    do { \
        const float s = x0[i]; \
\
        NNCC_F32_FMA(a0, vldrwq_f32(w + NNCC_F32_W_BIAS + 8 * (i)), s); \
        NNCC_F32_FMA(b0, vldrwq_f32(w + NNCC_F32_W_BIAS + 8 * (i) + 4), s); \
    } while (0)
#define NNCC_F32_INPUT4X1(i) NNCC_F32_FMA(a0, vldrwq_f32(w + NNCC_F32_W_BIAS + 4 * (i)), x0[i])
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
#define NNCC_F32_FOUR(input, next, lanes) \
    do { \
        input(0); \
        input(1); \
        input(2); \
        input(3); \
        next(4, lanes); \
    } while (0)
#define NNCC_F32_TWO(input, next, lanes) \
    do { \
        input(0); \
        input(1); \
        next(2, lanes); \
    } while (0)
#define NNCC_F32_ONE(input, next, lanes) \
    do { \
        input(0); \
        next(1, lanes); \
    } while (0)
#define NNCC_F32_INPUTS(input, next, skip, lanes) \
    NNCC_F32_RUNS(NNCC_F32_FOUR(input, next, lanes), NNCC_F32_TWO(input, next, lanes), \
                  NNCC_F32_ONE(input, next, lanes), skip, 8 / (lanes))

#endif

#endif /* NNCC_F32_INTRINSICS_H */
