/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_held.h: sums in registers of an FPU, by Clang without assembly. Loads that follow each other become VLDM
 * where their registers do, and what ends as an argument of a call lies in that call's registers, s0 to s15. So weights
 * end as arguments of a function that does nothing, from every place in a loop that loads them: a loop that loads them
 * twice has two ways out. A loop that can be entered in the middle keeps its pointers as they are written.
 */
#ifndef NNCC_F32_HELD_H
#define NNCC_F32_HELD_H

#include "nncc_f32_sums.h"

#if NNCC_F32_HELD

/* Eight values, or sixteen, of the names a and b. */
#define NNCC_F32_EIGHT_ARGS(a) \
    float a##0, float a##1, float a##2, float a##3, float a##4, float a##5, float a##6, float a##7
#define NNCC_F32_EIGHT_OF(a) a##0, a##1, a##2, a##3, a##4, a##5, a##6, a##7
#define NNCC_F32_UNUSED8(a) \
    (void)a##0; \
    (void)a##1; \
    (void)a##2; \
    (void)a##3; \
    (void)a##4; \
    (void)a##5; \
    (void)a##6; \
    (void)a##7

/* `used`: what a function does not look at would be no argument of it otherwise. */
__attribute__((noinline, used)) static void nncc_f32_hold8(NNCC_F32_EIGHT_ARGS(a))
{
    NNCC_F32_UNUSED8(a);
    NNCC_F32_NOW;
}

__attribute__((noinline, used)) static void nncc_f32_hold16(NNCC_F32_EIGHT_ARGS(a), NNCC_F32_EIGHT_ARGS(b))
{
    NNCC_F32_UNUSED8(a);
    NNCC_F32_UNUSED8(b);
    NNCC_F32_NOW;
}

__attribute__((noinline, used)) static void nncc_f32_hold_at(const float *w, const float *x)
{
    (void)w;
    (void)x;
    NNCC_F32_NOW;
}

#define NNCC_F32_HOLD4(a, k) nncc_f32_hold8(a##0, a##1, a##2, a##3, k##0, k##1, k##2, k##3)
#define NNCC_F32_HOLD16(a, b) nncc_f32_hold16(NNCC_F32_EIGHT_OF(a), NNCC_F32_EIGHT_OF(b))

/* Values that are loaded together. */
#define NNCC_F32_LOAD4(k, p) \
    do { \
        NNCC_F32_NOW; \
        k##0 = (p)[0]; \
        k##1 = (p)[1]; \
        k##2 = (p)[2]; \
        k##3 = (p)[3]; \
        NNCC_F32_NOW; \
    } while (0)
#define NNCC_F32_LOAD8(k, p) \
    do { \
        NNCC_F32_NOW; \
        k##0 = (p)[0]; \
        k##1 = (p)[1]; \
        k##2 = (p)[2]; \
        k##3 = (p)[3]; \
        k##4 = (p)[4]; \
        k##5 = (p)[5]; \
        k##6 = (p)[6]; \
        k##7 = (p)[7]; \
        NNCC_F32_NOW; \
    } while (0)

/* Weights of 4 or 8 channels times an input; of 8 times an input each. */
#define NNCC_F32_BY4(a, k, x) \
    do { \
        const float s_ = (x); \
\
        NNCC_F32_TIMES(a##0, k##0, s_); \
        NNCC_F32_TIMES(a##1, k##1, s_); \
        NNCC_F32_TIMES(a##2, k##2, s_); \
        NNCC_F32_TIMES(a##3, k##3, s_); \
        NNCC_F32_NOW; \
    } while (0)
#define NNCC_F32_BY8(a, k, x) \
    do { \
        const float s_ = (x); \
\
        NNCC_F32_TIMES(a##0, k##0, s_); \
        NNCC_F32_TIMES(a##1, k##1, s_); \
        NNCC_F32_TIMES(a##2, k##2, s_); \
        NNCC_F32_TIMES(a##3, k##3, s_); \
        NNCC_F32_TIMES(a##4, k##4, s_); \
        NNCC_F32_TIMES(a##5, k##5, s_); \
        NNCC_F32_TIMES(a##6, k##6, s_); \
        NNCC_F32_TIMES(a##7, k##7, s_); \
        NNCC_F32_NOW; \
    } while (0)
#define NNCC_F32_BY_LANES(a, k, x) \
    do { \
        NNCC_F32_TIMES(a##0, k##0, x##0); \
        NNCC_F32_TIMES(a##1, k##1, x##1); \
        NNCC_F32_TIMES(a##2, k##2, x##2); \
        NNCC_F32_TIMES(a##3, k##3, x##3); \
        NNCC_F32_TIMES(a##4, k##4, x##4); \
        NNCC_F32_TIMES(a##5, k##5, x##5); \
        NNCC_F32_TIMES(a##6, k##6, x##6); \
        NNCC_F32_TIMES(a##7, k##7, x##7); \
        NNCC_F32_NOW; \
    } while (0)

/*
 * step(0) and step(1) in turn, n of them, at least one; an odd number begins in the middle. `next` moves pointers on
 * behind both. `some` is never 0; `lost` holds what is loaded and returns: the other way out.
 */
#define NNCC_F32_TURNS(n, some, step, next, lost) \
    do { \
        int32_t rounds_ = ((n) + 1) >> 1; \
\
        switch ((n)&1) { \
            do { \
            default: \
                step(0); \
                if ((some) == 0) { \
                    lost; \
                } \
                __attribute__((fallthrough)); \
            case 1: \
                step(1); \
                next; \
                rounds_--; \
            } while (rounds_ > 0); \
        } \
    } while (0)
#define NNCC_F32_LOST(hold) \
    do { \
        hold; \
        return; \
    } while (0)

/* The same, with pointers that have moved on: otherwise they move behind the way out, and a load and its pointer are
 * two instructions. */
#define NNCC_F32_LOST_AT(hold, p, q) \
    do { \
        hold; \
        nncc_f32_hold_at(p, q); \
        return; \
    } while (0)

/* The pixels of NNCC_F32_SKIP. */
#define NNCC_F32_SKIP2(bytes) \
    do { \
        const int32_t by = bytes; \
\
        x0 = nncc_f32_bytes(x0, by); \
        x1 = nncc_f32_bytes(x1, by); \
    } while (0)

/* All runs of a job that has some inputs; as NNCC_F32_RUNS, with a step for one input. */
#define NNCC_F32_HELD_RUNS(step, skip, part, lost) \
    do { \
        const volatile nncc_f32_job *const job = t; \
        const int32_t inputs = 2 * job->steps + job->odd; \
        int32_t planes = job->planes; \
\
        do { \
            int32_t rows = job->rows; \
\
            do { \
                skip(-(int32_t)sizeof(float) * (inputs & 1)); \
                NNCC_F32_TURNS(inputs, rows, step, skip(2 * (int32_t)sizeof(float)), lost); \
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

/* Input i of one pixel or two, for 8 channels or 4. */
#define NNCC_F32_HELD8X1(i) \
    do { \
        NNCC_F32_LOAD8(k, w); \
        w += 8; \
        NNCC_F32_BY8(a, k, x0[i]); \
    } while (0)
#define NNCC_F32_HELD8X2(i) \
    do { \
        NNCC_F32_HELD8X1(i); \
        NNCC_F32_BY8(b, k, x1[i]); \
    } while (0)
#define NNCC_F32_HELD4X1(i) \
    do { \
        NNCC_F32_LOAD4(k, w); \
        w += 4; \
        NNCC_F32_BY4(a, k, x0[i]); \
    } while (0)
#define NNCC_F32_HELD4X2(i) \
    do { \
        NNCC_F32_HELD4X1(i); \
        NNCC_F32_BY4(b, k, x1[i]); \
    } while (0)

/* A job without inputs: n channels of a pixel are the biases. */
static inline int32_t nncc_f32_no_inputs(const nncc_f32_job *t, const float *w, int32_t n, float *y)
{
    if (t->steps + t->odd != 0) {
        return 0;
    }
    for (int32_t i = 0; i < n; i++) {
        y[i] = nncc_clamp_f32(w[i], t->lo, t->hi);
    }
    return 1;
}

#endif

#endif /* NNCC_F32_HELD_H */
