/*
 * nncc_packed_f32.h: output channels in the lanes of vectors, 16 or 4 at a time. Every lane adds its terms one after
 * the other, products rounded before they are added, so results are those of the scalar kernels (Helium flushes
 * denormals to zero). The vector loops are inline assembly: the compiler would copy every scalar into a register of
 * the FPU first.
 */
#ifndef NNCC_PACKED_F32_H
#define NNCC_PACKED_F32_H

#include "nncc_fp.h"

#include "nncc_dot_f32.h"
#include "nncc_f32.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
#include <arm_mve.h>
#define NNCC_F32X4_MVE 1
#else
#define NNCC_F32X4_MVE 0
#endif

#define NNCC_F32X4 4
#define NNCC_BLOCK 16 /* channels of a large record, in 4 vectors */

/* How the taps of an output pixel lie: rows of n, with steps in bytes from the end of one row to the next. */
typedef struct
{
    int32_t rows, n;
    int32_t x_skip, w_skip;
    int32_t across; /* bytes from a tap to the next: depthwise only */
} nncc_packed_window;

#if NNCC_F32X4_MVE
typedef float32x4_t nncc_f32x4;

static inline nncc_f32x4 nncc_f32x4_zero(void)
{
    return vdupq_n_f32(0.0f);
}
static inline nncc_f32x4 nncc_f32x4_load(const float *p)
{
    return vldrwq_f32(p);
}
static inline nncc_f32x4 nncc_f32x4_add(nncc_f32x4 a, nncc_f32x4 b)
{
    return vaddq_f32(a, b);
}

#else
typedef struct
{
    float v[NNCC_F32X4];
} nncc_f32x4;

static inline nncc_f32x4 nncc_f32x4_zero(void)
{
    const nncc_f32x4 z = {{0.0f, 0.0f, 0.0f, 0.0f}};
    return z;
}

static inline nncc_f32x4 nncc_f32x4_load(const float *p)
{
    nncc_f32x4 r;
    for (int32_t i = 0; i < NNCC_F32X4; i++) {
        r.v[i] = p[i];
    }
    return r;
}

static inline nncc_f32x4 nncc_f32x4_add(nncc_f32x4 a, nncc_f32x4 b)
{
    for (int32_t i = 0; i < NNCC_F32X4; i++) {
        a.v[i] += b.v[i];
    }
    return a;
}
#endif

/* The first n lanes, clamped, to y. NaN stays, as in nncc_clamp_f32. */
static inline void nncc_f32x4_store(float *y, nncc_f32x4 a, int32_t n, float lo, float hi)
{
#if NNCC_F32X4_MVE
    a = vpselq_f32(vdupq_n_f32(lo), a, vcmpltq_n_f32(a, lo));
    a = vpselq_f32(vdupq_n_f32(hi), a, vcmpgtq_n_f32(a, hi));
    if (n >= NNCC_F32X4) {
        vstrwq_f32(y, a);
    } else {
        vstrwq_p_f32(y, a, vctp32q((uint32_t)n));
    }
#else
    for (int32_t i = 0; i < n && i < NNCC_F32X4; i++) {
        y[i] = nncc_clamp_f32(a.v[i], lo, hi);
    }
#endif
}

#endif /* NNCC_PACKED_F32_H */
