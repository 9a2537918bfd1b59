/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_fft_f32: Stockham's passes of radix 4, 2, 3 and 5, then the split into the spectrum of a real signal. Products
 * and sums are rounded one by one. A pass of m groups and stride s computes from x[q + s*(p + k*m)], k < radix,
 * y[q + s*(radix*p + k)], the latter times a factor of the table where p > 0: complex numbers, p < m, q < s.
 */
#include "nncc_fft_f32.h"

#include "nncc_fft_complex.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && !defined(__ARM_BIG_ENDIAN)
#define NNCC_FFT_MVE 1
#else
#define NNCC_FFT_MVE 0
#endif

/* Stands for the factors of the first group, which is not used. */
static const float nncc_fft_none[2] = {1.0f, 0.0f};

static inline nncc_c32 nncc_c32_mul(nncc_c32 a, nncc_c32 w)
{
    const float re = a.re * w.re - a.im * w.im;

    a.im = a.re * w.im + a.im * w.re;
    a.re = re;
    return a;
}

/* The transform of numbers `in` floats apart. */
static inline void nncc_fft_load4(const float *x, int32_t in, nncc_c32 *v)
{
    v[0] = nncc_c32_at(x);
    x += in;
    v[1] = nncc_c32_at(x);
    x += in;
    v[2] = nncc_c32_at(x);
    v[3] = nncc_c32_at(x + in);
    nncc_fft_4(v);
}

/* s butterflies of the first group, results `out` floats apart. */
static void nncc_fft_first4(const float *x, int32_t in, float *y, int32_t out, int32_t s)
{
    do {
        nncc_c32 v[4];

        nncc_fft_load4(x, in, v);
        for (int32_t k = 0; k < 4; k++) {
            nncc_c32_put(y + k * out, v[k]);
        }
        x += 2;
        y += 2;
    } while (--s > 0);
}

/* The same of a later group: times factors, `next` floats apart. */
static void nncc_fft_later4(const float *x, int32_t in, float *y, int32_t out, int32_t s, const float *w, int32_t next)
{
    const nncc_c32 w1 = nncc_c32_at(w);
    const nncc_c32 w2 = nncc_c32_at(w + next);
    const nncc_c32 w3 = nncc_c32_at(w + 2 * next);

    do {
        nncc_c32 v[4];

        nncc_fft_load4(x, in, v);
        nncc_c32_put(y, v[0]);
        nncc_c32_put(y + out, nncc_c32_mul(v[1], w1));
        nncc_c32_put(y + 2 * out, nncc_c32_mul(v[2], w2));
        nncc_c32_put(y + 3 * out, nncc_c32_mul(v[3], w3));
        x += 2;
        y += 2;
    } while (--s > 0);
}

#include "nncc_fft_groups.h"
#if NNCC_FFT_MVE
#include "nncc_fft_helium.h"
#endif

static void nncc_fft_pass4(const float *x, float *y, int32_t m, int32_t s, const float *w)
{
    const int32_t out = 2 * s;
    const int32_t in = out * m;
    const int32_t next = 2 * (m - 1);

#if NNCC_FFT_MVE
    if (s == 1) {
        nncc_fft_entry4(x, y, m, w);
        return;
    }
    if (s % 2 == 0) {
        for (int32_t p = 0; p < m; p++) {
            nncc_fft_pairs4(x, in, y, out, s, p > 0 ? w : nncc_fft_none, p > 0 ? next : 0, p > 0);
            x += out;
            y += 4 * out;
            w += p > 0 ? 2 : 0;
        }
        return;
    }
#endif
    nncc_fft_first4(x, in, y, out, s);
    for (int32_t p = 1; p < m; p++) {
        x += out;
        y += 4 * out;
        nncc_fft_later4(x, in, y, out, s, w, next);
        w += 2;
    }
}

/* A pass of radix 2, 3 or 5. The first group reads factors, too, but does not use them. */
static void nncc_fft_pass(int32_t radix, const float *x, float *y, int32_t m, int32_t s, const float *w)
{
    const int32_t out = 2 * s;
    const int32_t in = out * m;
    const int32_t next = 2 * (m - 1);

    for (int32_t p = 0; p < m; p++) {
        const float *const f = p > 0 ? w : nncc_fft_none;
        const int32_t apart = p > 0 ? next : 0;

#if NNCC_FFT_MVE
        if (s % 2 == 0) {
            if (radix == 2) {
                nncc_fft_pairs2(x, in, y, out, s, f, apart, p > 0);
            } else if (radix == 3) {
                nncc_fft_pairs3(x, in, y, out, s, f, apart, p > 0);
            } else {
                nncc_fft_pairs5(x, in, y, out, s, f, apart, p > 0);
            }
        } else
#endif
            if (radix == 2) {
            nncc_fft_group2(x, in, y, out, s, f, apart, p > 0);
        } else if (radix == 3) {
            nncc_fft_group3(x, in, y, out, s, f, apart, p > 0);
        } else {
            nncc_fft_group5(x, in, y, out, s, f, apart, p > 0);
        }
        x += out;
        y += radix * out;
        w += p > 0 ? 2 : 0;
    }
}

/* Bin k of a row. */
static inline void nncc_fft_bin(const nncc_spectrum_params *p, float *y, int32_t k, nncc_c32 v)
{
    if (k < p->bins) {
        if (p->power) {
            y[k] = v.re * v.re + v.im * v.im;
        } else {
            nncc_c32_put(y + 2 * k, v);
        }
    }
}

/* Twice what even samples give to a bin and its mirror, of both their numbers; the same of odd ones, turned. */
static inline nncc_c32 nncc_fft_even(const float *up, const float *down)
{
    const nncc_c32 e = {up[0] + down[0], up[1] - down[1]};
    return e;
}

static inline nncc_c32 nncc_fft_odd(const float *up, const float *down, const float *w)
{
    const nncc_c32 d = {up[0] - down[0], up[1] + down[1]};
    return nncc_c32_mul(d, nncc_c32_at(w));
}

#if NNCC_FFT_MVE
/* Squared magnitudes, each in both of its lanes. */
static inline float32x4_t nncc_fft_square(float32x4_t v)
{
    const float32x4_t s = vmulq_f32(v, v);

    return vaddq_f32(s, vrev64q_f32(s));
}

/* Bins from 1 on and from m - 1 down, two at a time, of all that there are; gives the first that is left. */
static int32_t nncc_fft_split_pairs(const nncc_spectrum_params *p, const float *z, int32_t m, const float *w, float *y)
{
    const uint32x4_t swap = vldrwq_u32(nncc_fft_swap);
    const uint32x4_t rising = vldrwq_u32(nncc_fft_rising);
    const uint32x4_t falling = vldrwq_u32(nncc_fft_falling);
    const uint32x4_t signs = vldrwq_u32(nncc_fft_signs);
    int32_t k = 1;

    if (p->bins <= m) {
        return k;
    }
    for (; 2 * (k + 1) < m; k += 2) {
        const float32x4_t a = vldrwq_f32(z + 2 * k);
        const float32x4_t b = vldrwq_gather_shifted_offset_f32(z + 2 * (m - k - 1), swap);
        const float32x4_t c = vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(b), signs));
        const float32x4_t e = vaddq_f32(a, c);
        const float32x4_t o = nncc_fft_turn(vsubq_f32(a, c), vldrwq_f32(w));
        const float32x4_t up = vaddq_f32(e, o);
        const float32x4_t down = vsubq_f32(e, o);

        if (p->power) {
            vstrwq_scatter_shifted_offset_f32(y + k, rising, nncc_fft_square(up));
            vstrwq_scatter_shifted_offset_f32(y + m - k - 1, falling, nncc_fft_square(down));
        } else {
            vstrwq_f32(y + 2 * k, up);
            vstrwq_scatter_shifted_offset_f32(y + 2 * (m - k - 1), swap,
                                              vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(down), signs)));
        }
        w += 4;
    }
    return k;
}
#endif

/* The spectrum of the samples of which z [m] is that of pairs; w: the factors of the split. */
static void nncc_fft_split(const nncc_spectrum_params *p, const float *z, int32_t m, const float *w, float *y)
{
    const float even = z[0] + z[0];
    const float odd = z[1] + z[1];
    const nncc_c32 first = {even + odd, 0.0f};
    const nncc_c32 last = {even - odd, 0.0f};
    const float *up = z + 2;
    const float *down = z + 2 * m - 2;
    int32_t k = 1;

    nncc_fft_bin(p, y, 0, first);
    nncc_fft_bin(p, y, m, last);
#if NNCC_FFT_MVE
    k = nncc_fft_split_pairs(p, z, m, w, y);
    up += 2 * (k - 1);
    down -= 2 * (k - 1);
    w += 2 * (k - 1);
#endif
    if (p->bins > m && p->power) {
        for (; 2 * k < m; k++) {
            const nncc_c32 e = nncc_fft_even(up, down);
            const nncc_c32 o = nncc_fft_odd(up, down, w);
            const nncc_c32 a = nncc_c32_add(e, o);
            const nncc_c32 b = nncc_c32_sub(e, o);

            y[k] = a.re * a.re + a.im * a.im;
            y[m - k] = b.re * b.re + b.im * b.im;
            up += 2;
            down -= 2;
            w += 2;
        }
    }
    for (; 2 * k < m; k++) {
        const nncc_c32 e = nncc_fft_even(up, down);
        const nncc_c32 o = nncc_fft_odd(up, down, w);
        const nncc_c32 mirrored = {e.re - o.re, -(e.im - o.im)};

        nncc_fft_bin(p, y, k, nncc_c32_add(e, o));
        nncc_fft_bin(p, y, m - k, mirrored);
        up += 2;
        down -= 2;
        w += 2;
    }
    if (m % 2 == 0) {
        const nncc_c32 middle = {up[0] + up[0], -(up[1] + up[1])};

        nncc_fft_bin(p, y, m / 2, middle);
    }
}

void nncc_fft_f32(const nncc_spectrum_params *p, const float *twiddle, float *half, float *other, float *y)
{
    const int32_t n = p->length;
    const int32_t m = n % 2 == 0 ? n / 2 : n;
    int32_t length = m;
    int32_t s = 1;

    for (int32_t i = 0; i < p->passes; i++) {
        const int32_t radix = p->radix[i];
        float *const next = half;

        length /= radix;
        if (radix == 4) {
            nncc_fft_pass4(half, other, length, s, twiddle);
        } else {
            nncc_fft_pass(radix, half, other, length, s, twiddle);
        }
        twiddle += 2 * (radix - 1) * (length - 1);
        s *= radix;
        half = other;
        other = next;
    }
    if (m != n) {
        nncc_fft_split(p, half, m, twiddle, y);
    } else {
        for (int32_t k = 0; 2 * k <= n; k++) {
            nncc_fft_bin(p, y, k, nncc_c32_at(half + 2 * k));
        }
    }
    nncc_fft_mirror(p, y);
}
