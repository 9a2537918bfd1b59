/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * Complex numbers and the transforms of 2 to 5 of them: what the passes of nncc_fft_f32 and nncc_fft_s32 consist of. A
 * source defines NNCC_FFT_PART, the type of real and imaginary parts, NNCC_FFT_BY(a, f), a part times a factor, and
 * NNCC_FFT_HALF(a), half of one, and the factors: sine and cosine of 60, 72 and 144 degrees.
 */
#ifndef NNCC_FFT_COMPLEX_H
#define NNCC_FFT_COMPLEX_H

#include "nncc_fp.h"

#include "nncc_f32.h"

typedef struct
{
    NNCC_FFT_PART re, im;
} nncc_c32;

static inline nncc_c32 nncc_c32_at(const NNCC_FFT_PART *x)
{
    const nncc_c32 v = {x[0], x[1]};
    return v;
}

static inline void nncc_c32_put(NNCC_FFT_PART *y, nncc_c32 v)
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

static inline nncc_c32 nncc_c32_by(nncc_c32 a, NNCC_FFT_PART f)
{
    a.re = NNCC_FFT_BY(a.re, f);
    a.im = NNCC_FFT_BY(a.im, f);
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
    const nncc_c32 half = {NNCC_FFT_HALF(sum.re), NNCC_FFT_HALF(sum.im)};
    const nncc_c32 rest = nncc_c32_sub(a, half);

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

/* The other half of a spectrum mirrors the first. */
static inline void nncc_fft_mirror(const nncc_spectrum_params *p, float *y)
{
    const int32_t n = p->length;

    for (int32_t k = n / 2 + 1; k < p->bins; k++) {
        if (p->power) {
            y[k] = y[n - k];
        } else {
            y[2 * k] = y[2 * (n - k)];
            y[2 * k + 1] = -y[2 * (n - k) + 1];
        }
    }
}

#endif /* NNCC_FFT_COMPLEX_H */
