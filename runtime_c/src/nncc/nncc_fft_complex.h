/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * Complex numbers and the transforms of 2 to 5 of them, products and sums rounded one by one: what the passes of
 * nncc_fft_f32 consist of.
 */
#ifndef NNCC_FFT_COMPLEX_H
#define NNCC_FFT_COMPLEX_H

#include "nncc_fp.h"

#define NNCC_FFT_SIN60 0.866025388f
#define NNCC_FFT_COS72 0.309017003f
#define NNCC_FFT_COS144 (-0.809017003f)
#define NNCC_FFT_SIN72 0.95105654f
#define NNCC_FFT_SIN144 0.587785244f

typedef struct
{
    float re, im;
} nncc_c32;

static inline nncc_c32 nncc_c32_at(const float *x)
{
    const nncc_c32 v = {x[0], x[1]};
    return v;
}

static inline void nncc_c32_put(float *y, nncc_c32 v)
{
    y[0] = v.re;
    y[1] = v.im;
}

static inline nncc_c32 nncc_c32_add(nncc_c32 a, nncc_c32 b)
{
    a.re += b.re;
    a.im += b.im;
    return a;
}

static inline nncc_c32 nncc_c32_sub(nncc_c32 a, nncc_c32 b)
{
    a.re -= b.re;
    a.im -= b.im;
    return a;
}

static inline nncc_c32 nncc_c32_by(nncc_c32 a, float f)
{
    a.re *= f;
    a.im *= f;
    return a;
}

/* a - i*b */
static inline nncc_c32 nncc_c32_down(nncc_c32 a, nncc_c32 b)
{
    a.re += b.im;
    a.im -= b.re;
    return a;
}

/* a + i*b */
static inline nncc_c32 nncc_c32_up(nncc_c32 a, nncc_c32 b)
{
    a.re -= b.im;
    a.im += b.re;
    return a;
}

static inline nncc_c32 nncc_c32_mul(nncc_c32 a, nncc_c32 w)
{
    const float re = a.re * w.re - a.im * w.im;

    a.im = a.re * w.im + a.im * w.re;
    a.re = re;
    return a;
}

static inline void nncc_fft_2(nncc_c32 *v)
{
    const nncc_c32 a = v[0];

    v[0] = nncc_c32_add(a, v[1]);
    v[1] = nncc_c32_sub(a, v[1]);
}

static inline void nncc_fft_3(nncc_c32 *v)
{
    const nncc_c32 a = v[0];
    const nncc_c32 sum = nncc_c32_add(v[1], v[2]);
    const nncc_c32 turned = nncc_c32_by(nncc_c32_sub(v[1], v[2]), NNCC_FFT_SIN60);
    const nncc_c32 rest = nncc_c32_sub(a, nncc_c32_by(sum, 0.5f));

    v[0] = nncc_c32_add(a, sum);
    v[1] = nncc_c32_down(rest, turned);
    v[2] = nncc_c32_up(rest, turned);
}

static inline void nncc_fft_4(nncc_c32 *v)
{
    const nncc_c32 even = nncc_c32_add(v[0], v[2]);
    const nncc_c32 odd = nncc_c32_sub(v[0], v[2]);
    const nncc_c32 sum = nncc_c32_add(v[1], v[3]);
    const nncc_c32 diff = nncc_c32_sub(v[1], v[3]);

    v[0] = nncc_c32_add(even, sum);
    v[1] = nncc_c32_down(odd, diff);
    v[2] = nncc_c32_sub(even, sum);
    v[3] = nncc_c32_up(odd, diff);
}

static inline void nncc_fft_5(nncc_c32 *v)
{
    const nncc_c32 a = v[0];
    const nncc_c32 s1 = nncc_c32_add(v[1], v[4]);
    const nncc_c32 d1 = nncc_c32_sub(v[1], v[4]);
    const nncc_c32 s2 = nncc_c32_add(v[2], v[3]);
    const nncc_c32 d2 = nncc_c32_sub(v[2], v[3]);
    const nncc_c32 m1 =
        nncc_c32_add(nncc_c32_add(a, nncc_c32_by(s1, NNCC_FFT_COS72)), nncc_c32_by(s2, NNCC_FFT_COS144));
    const nncc_c32 m2 =
        nncc_c32_add(nncc_c32_add(a, nncc_c32_by(s1, NNCC_FFT_COS144)), nncc_c32_by(s2, NNCC_FFT_COS72));
    const nncc_c32 t1 = nncc_c32_add(nncc_c32_by(d1, NNCC_FFT_SIN72), nncc_c32_by(d2, NNCC_FFT_SIN144));
    const nncc_c32 t2 = nncc_c32_sub(nncc_c32_by(d1, NNCC_FFT_SIN144), nncc_c32_by(d2, NNCC_FFT_SIN72));

    v[0] = nncc_c32_add(nncc_c32_add(a, s1), s2);
    v[1] = nncc_c32_down(m1, t1);
    v[2] = nncc_c32_down(m2, t2);
    v[3] = nncc_c32_up(m2, t2);
    v[4] = nncc_c32_up(m1, t1);
}

#endif
