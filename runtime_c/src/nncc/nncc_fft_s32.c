/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_fft_s32: Stockham's passes of radix 4, 2, 3 and 5 on 32-bit integers with factors of 16 bits, then the split
 * into the spectrum of a real signal. The order of numbers and factors is that of nncc_fft_f32.
 */
#include "nncc_fp.h"

#include "nncc_fft_s32.h"

#include <string.h>

#include "nncc_fft_complex.h"

/* a times a complex factor; each part is rounded once. */
static inline nncc_q32 nncc_q32_mul(nncc_q32 a, const int16_t *w)
{
    const int32_t re = w[0];
    const int32_t im = w[1];
    const int32_t low_re = a.re & 0x7fff;
    const int32_t low_im = a.im & 0x7fff;

    a.re >>= 15;
    a.im >>= 15;
    {
        const nncc_q32 v = {a.re * re - a.im * im + ((low_re * re - low_im * im + 0x4000) >> 15),
                            a.re * im + a.im * re + ((low_re * im + low_im * re + 0x4000) >> 15)};
        return v;
    }
}

/*
 * s butterflies of one group: numbers `in` apart, results `out` apart, those of a later group times factors `next`
 * apart, which the first one has none of.
 */
static void nncc_fft_s32_group4(const int32_t *x, int32_t in, int32_t *y, int32_t out, int32_t s, const int16_t *w,
                                int32_t next)
{
    do {
        nncc_q32 v[4];

        v[0] = nncc_q32_at(x);
        v[1] = nncc_q32_at(x + in);
        v[2] = nncc_q32_at(x + 2 * in);
        v[3] = nncc_q32_at(x + 3 * in);
        nncc_fft_q4(v);
        nncc_q32_put(y, v[0]);
        nncc_q32_put(y + out, w ? nncc_q32_mul(v[1], w) : v[1]);
        nncc_q32_put(y + 2 * out, w ? nncc_q32_mul(v[2], w + next) : v[2]);
        nncc_q32_put(y + 3 * out, w ? nncc_q32_mul(v[3], w + 2 * next) : v[3]);
        x += 2;
        y += 2;
    } while (--s > 0);
}

static void nncc_fft_s32_group(int32_t radix, const int32_t *x, int32_t in, int32_t *y, int32_t out, int32_t s,
                               const int16_t *w, int32_t next)
{
    do {
        nncc_q32 v[5];

        for (int32_t k = 0; k < radix; k++) {
            v[k] = nncc_q32_at(x + k * in);
        }
        if (radix == 2) {
            nncc_fft_q2(v);
        } else if (radix == 3) {
            nncc_fft_q3(v);
        } else {
            nncc_fft_q5(v);
        }
        nncc_q32_put(y, v[0]);
        for (int32_t k = 1; k < radix; k++) {
            nncc_q32_put(y + k * out, w ? nncc_q32_mul(v[k], w + (k - 1) * next) : v[k]);
        }
        x += 2;
        y += 2;
    } while (--s > 0);
}

static void nncc_fft_s32_pass(int32_t radix, const int32_t *x, int32_t *y, int32_t m, int32_t s, const int16_t *w)
{
    const int32_t out = 2 * s;
    const int32_t in = out * m;
    const int32_t next = 2 * (m - 1);

    for (int32_t p = 0; p < m; p++) {
        const int16_t *const f = p > 0 ? w + 2 * (p - 1) : NULL;

        if (radix == 4) {
            nncc_fft_s32_group4(x, in, y, out, s, f, next);
        } else {
            nncc_fft_s32_group(radix, x, in, y, out, s, f, next);
        }
        x += out;
        y += radix * out;
    }
}

/*
 * (re*re + im*im) * unit, of the upper 15 bits of the larger one, which has 31 at most: sum and factor in 32 bits, the
 * rest is an exponent. No loop: data would say how often it turns.
 */
static float nncc_fft_s32_power(int32_t re, int32_t im, float unit)
{
    uint32_t a = (uint32_t)(re < 0 ? -re : re);
    uint32_t b = (uint32_t)(im < 0 ? -im : im);
    uint32_t top = a | b;
    uint32_t drop = 0;
    uint32_t bits;

    if (top >= 1u << 23) {
        top >>= 8;
        drop = 8;
    }
    if (top >= 1u << 19) {
        top >>= 4;
        drop += 4;
    }
    if (top >= 1u << 17) {
        top >>= 2;
        drop += 2;
    }
    if (top >= 1u << 16) {
        top >>= 1;
        drop++;
    }
    if (top >= 1u << 15) {
        drop++;
    }
    a >>= drop;
    b >>= drop;
    float y = (float)(int32_t)(a * a + b * b) * unit;
    if (drop == 0) {
        return y;
    }
    memcpy(&bits, &y, sizeof(bits));
    bits += drop << 24;
    memcpy(&y, &bits, sizeof(y));
    return y;
}

/* Bin k of a row. */
static void nncc_fft_s32_bin(const nncc_spectrum_params *p, float *y, int32_t k, int32_t re, int32_t im)
{
    if (k >= p->bins) {
        return;
    }
    if (p->power) {
        y[k] = nncc_fft_s32_power(re, im, p->unit);
    } else {
        y[2 * k] = (float)re * p->unit;
        y[2 * k + 1] = (float)im * p->unit;
    }
}

/* The spectrum of the samples of which z [m] is that of pairs; w: the factors of the split. */
static void nncc_fft_s32_split(const nncc_spectrum_params *p, const int32_t *z, int32_t m, const int16_t *w, float *y)
{
    const int32_t *up = z + 2;
    const int32_t *down = z + 2 * m - 2;
    int32_t k = 1;

    nncc_fft_s32_bin(p, y, 0, z[0] + z[1], 0);
    nncc_fft_s32_bin(p, y, m, z[0] - z[1], 0);
    for (; 2 * k < m; k++) {
        const nncc_q32 e = {up[0] + down[0], up[1] - down[1]};
        const nncc_q32 d = {up[0] - down[0], up[1] + down[1]};
        const nncc_q32 o = nncc_q32_mul(d, w);

        nncc_fft_s32_bin(p, y, k, nncc_shift_half_up(e.re + o.re, 1), nncc_shift_half_up(e.im + o.im, 1));
        nncc_fft_s32_bin(p, y, m - k, nncc_shift_half_up(e.re - o.re, 1), nncc_shift_half_up(o.im - e.im, 1));
        up += 2;
        down -= 2;
        w += 2;
    }
    if (m % 2 == 0) {
        nncc_fft_s32_bin(p, y, m / 2, up[0], -up[1]);
    }
}

void nncc_fft_s32(const nncc_spectrum_params *p, const int16_t *twiddle, int32_t *x, int32_t *other, float *y)
{
    const int32_t n = p->length;
    const int32_t m = n % 2 == 0 ? n / 2 : n;
    int32_t length = m;
    int32_t s = 1;

    for (int32_t i = 0; i < p->passes; i++) {
        const int32_t radix = p->radix[i];
        int32_t *const next = x;

        length /= radix;
        nncc_fft_s32_pass(radix, x, other, length, s, twiddle);
        twiddle += 2 * (radix - 1) * (length - 1);
        s *= radix;
        x = other;
        other = next;
    }
    if (m != n) {
        nncc_fft_s32_split(p, x, m, twiddle, y);
    } else {
        for (int32_t k = 0; 2 * k <= n; k++) {
            nncc_fft_s32_bin(p, y, k, x[2 * k], x[2 * k + 1]);
        }
    }
    nncc_fft_mirror(p, y);
}
