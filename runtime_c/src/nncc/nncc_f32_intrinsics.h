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

/*
 * All runs of a job: FOUR takes four inputs, TWO two, ONE the last of an odd number, SKIP moves the pixels on by so
 * many bytes; w is weights of records that are as many bytes as those of 8 channels, over `part`.
 */
#define NNCC_F32_RUNS(four, two, one, skip, part) \
    do { \
        int32_t planes = t->planes; \
\
        do { \
            int32_t rows = t->rows; \
\
            do { \
                for (int32_t n = t->steps >> 1; n > 0; n--) { \
                    four; \
                } \
                if ((t->steps & 1) != 0) { \
                    two; \
                } \
                if (t->odd != 0) { \
                    one; \
                } \
                skip(t->x_skip); \
                w = nncc_f32_bytes(w, t->w_skip / (part)); \
            } while (--rows > 0); \
            skip(t->x_plane); \
            w = nncc_f32_bytes(w, t->w_plane / (part)); \
        } while (--planes > 0); \
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

/* Input i of 3 pixels with weights of 8 channels, or of 4. */
#define NNCC_F32_INPUT8(i) \
    do { \
        const float32x4_t k = vldrwq_f32(w + 8 * (i)), l = vldrwq_f32(w + 8 * (i) + 4); \
        const float s0 = x0[i], s1 = x1[i], s2 = x2[i]; \
\
        NNCC_F32_FMA(a0, k, s0); \
        NNCC_F32_FMA(b0, l, s0); \
        NNCC_F32_FMA(a1, k, s1); \
        NNCC_F32_FMA(b1, l, s1); \
        NNCC_F32_FMA(a2, k, s2); \
        NNCC_F32_FMA(b2, l, s2); \
    } while (0)
#define NNCC_F32_INPUT4(i) \
    do { \
        const float32x4_t k = vldrwq_f32(w + 4 * (i)); \
\
        NNCC_F32_FMA(a0, k, x0[i]); \
        NNCC_F32_FMA(a1, k, x1[i]); \
        NNCC_F32_FMA(a2, k, x2[i]); \
    } while (0)
#define NNCC_F32_INPUT8X1(i) \
    do { \
        const float s = x0[i]; \
\
        NNCC_F32_FMA(a0, vldrwq_f32(w + 8 * (i)), s); \
        NNCC_F32_FMA(b0, vldrwq_f32(w + 8 * (i) + 4), s); \
    } while (0)
#define NNCC_F32_INPUT4X1(i) NNCC_F32_FMA(a0, vldrwq_f32(w + 4 * (i)), x0[i])
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
