/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * The passes of nncc_fft_f32 with Helium, two complex numbers in a vector, the same bits: for cores with MVE in float.
 */
#ifndef NNCC_FFT_HELIUM_H
#define NNCC_FFT_HELIUM_H

#include <arm_mve.h>

/* Two complex numbers in a vector. VCADD adds a number turned by a right angle, VCMUL multiplies by one part. */
static inline float32x4_t nncc_fft_turn(float32x4_t v, float32x4_t w)
{
    return vaddq_f32(vcmulq_f32(w, v), vcmulq_rot90_f32(w, v));
}

static inline void nncc_fft_vector4(const float *x, int32_t in, float32x4_t *v)
{
    const float32x4_t a = vldrwq_f32(x);
    const float32x4_t c = vldrwq_f32(x + 2 * in);
    const float32x4_t even = vaddq_f32(a, c);
    const float32x4_t odd = vsubq_f32(a, c);
    const float32x4_t b = vldrwq_f32(x + in);
    const float32x4_t d = vldrwq_f32(x + 3 * in);
    const float32x4_t sum = vaddq_f32(b, d);
    const float32x4_t diff = vsubq_f32(b, d);

    v[0] = vaddq_f32(even, sum);
    v[1] = vcaddq_rot270_f32(odd, diff);
    v[2] = vsubq_f32(even, sum);
    v[3] = vcaddq_rot90_f32(odd, diff);
}

static inline void nncc_fft_vector2(const float *x, int32_t in, float32x4_t *v)
{
    const float32x4_t a = vldrwq_f32(x);
    const float32x4_t b = vldrwq_f32(x + in);

    v[0] = vaddq_f32(a, b);
    v[1] = vsubq_f32(a, b);
}

static inline void nncc_fft_vector3(const float *x, int32_t in, float32x4_t *v)
{
    const float32x4_t a = vldrwq_f32(x);
    const float32x4_t b = vldrwq_f32(x + in);
    const float32x4_t c = vldrwq_f32(x + 2 * in);
    const float32x4_t sum = vaddq_f32(b, c);
    const float32x4_t turned = vmulq_n_f32(vsubq_f32(b, c), NNCC_FFT_SIN60);
    const float32x4_t rest = vsubq_f32(a, vmulq_n_f32(sum, 0.5f));

    v[0] = vaddq_f32(a, sum);
    v[1] = vcaddq_rot270_f32(rest, turned);
    v[2] = vcaddq_rot90_f32(rest, turned);
}

static inline void nncc_fft_vector5(const float *x, int32_t in, float32x4_t *v)
{
    const float32x4_t a = vldrwq_f32(x);
    const float32x4_t b = vldrwq_f32(x + in);
    const float32x4_t c = vldrwq_f32(x + 2 * in);
    const float32x4_t d = vldrwq_f32(x + 3 * in);
    const float32x4_t e = vldrwq_f32(x + 4 * in);
    const float32x4_t s1 = vaddq_f32(b, e);
    const float32x4_t d1 = vsubq_f32(b, e);
    const float32x4_t s2 = vaddq_f32(c, d);
    const float32x4_t d2 = vsubq_f32(c, d);
    const float32x4_t m1 = vaddq_f32(vaddq_f32(a, vmulq_n_f32(s1, NNCC_FFT_COS72)), vmulq_n_f32(s2, NNCC_FFT_COS144));
    const float32x4_t m2 = vaddq_f32(vaddq_f32(a, vmulq_n_f32(s1, NNCC_FFT_COS144)), vmulq_n_f32(s2, NNCC_FFT_COS72));
    const float32x4_t t1 = vaddq_f32(vmulq_n_f32(d1, NNCC_FFT_SIN72), vmulq_n_f32(d2, NNCC_FFT_SIN144));
    const float32x4_t t2 = vsubq_f32(vmulq_n_f32(d1, NNCC_FFT_SIN144), vmulq_n_f32(d2, NNCC_FFT_SIN72));

    v[0] = vaddq_f32(vaddq_f32(a, s1), s2);
    v[1] = vcaddq_rot270_f32(m1, t1);
    v[2] = vcaddq_rot270_f32(m2, t2);
    v[3] = vcaddq_rot90_f32(m2, t2);
    v[4] = vcaddq_rot90_f32(m1, t1);
}

/*
 * Lanes of one complex number twice, of two in turn; places of two bins, each in two lanes; signs of imaginary parts;
 * bytes from one group's result to the next, of the first pass of radix 4.
 */
static const uint32_t nncc_fft_both[4] = {0, 1, 0, 1};
static const uint32_t nncc_fft_swap[4] = {2, 3, 0, 1};
static const uint32_t nncc_fft_rising[4] = {0, 0, 1, 1};
static const uint32_t nncc_fft_falling[4] = {1, 1, 0, 0};
static const uint32_t nncc_fft_signs[4] = {0, 0x80000000u, 0, 0x80000000u};
static const uint32_t nncc_fft_apart[4] = {0, 0, 8 * sizeof(float), 0};

/* A factor twice. */
static inline float32x4_t nncc_fft_twice(const float *w)
{
    return vldrwq_gather_shifted_offset_f32(w, vldrwq_u32(nncc_fft_both));
}

static void nncc_fft_pairs2(const float *x, int32_t in, float *y, int32_t out, int32_t s, const float *w, int32_t next,
                            int32_t later)
{
    const float32x4_t w1 = nncc_fft_twice(w);

    NNCC_UNUSED(next);
    do {
        float32x4_t v[2];

        nncc_fft_vector2(x, in, v);
        if (later) {
            v[1] = nncc_fft_turn(v[1], w1);
        }
        vstrwq_f32(y, v[0]);
        vstrwq_f32(y + out, v[1]);
        x += 4;
        y += 4;
        s -= 2;
    } while (s > 0);
}

static void nncc_fft_pairs3(const float *x, int32_t in, float *y, int32_t out, int32_t s, const float *w, int32_t next,
                            int32_t later)
{
    const float32x4_t w1 = nncc_fft_twice(w);
    const float32x4_t w2 = nncc_fft_twice(w + next);

    do {
        float32x4_t v[3];

        nncc_fft_vector3(x, in, v);
        if (later) {
            v[1] = nncc_fft_turn(v[1], w1);
            v[2] = nncc_fft_turn(v[2], w2);
        }
        vstrwq_f32(y, v[0]);
        vstrwq_f32(y + out, v[1]);
        vstrwq_f32(y + 2 * out, v[2]);
        x += 4;
        y += 4;
        s -= 2;
    } while (s > 0);
}

static void nncc_fft_pairs4(const float *x, int32_t in, float *y, int32_t out, int32_t s, const float *w, int32_t next,
                            int32_t later)
{
    const float32x4_t w1 = nncc_fft_twice(w);
    const float32x4_t w2 = nncc_fft_twice(w + next);
    const float32x4_t w3 = nncc_fft_twice(w + 2 * next);

    do {
        float32x4_t v[4];

        nncc_fft_vector4(x, in, v);
        if (later) {
            v[1] = nncc_fft_turn(v[1], w1);
            v[2] = nncc_fft_turn(v[2], w2);
            v[3] = nncc_fft_turn(v[3], w3);
        }
        vstrwq_f32(y, v[0]);
        vstrwq_f32(y + out, v[1]);
        vstrwq_f32(y + 2 * out, v[2]);
        vstrwq_f32(y + 3 * out, v[3]);
        x += 4;
        y += 4;
        s -= 2;
    } while (s > 0);
}

static void nncc_fft_pairs5(const float *x, int32_t in, float *y, int32_t out, int32_t s, const float *w, int32_t next,
                            int32_t later)
{
    const float32x4_t w1 = nncc_fft_twice(w);
    const float32x4_t w2 = nncc_fft_twice(w + next);
    const float32x4_t w3 = nncc_fft_twice(w + 2 * next);
    const float32x4_t w4 = nncc_fft_twice(w + 3 * next);

    do {
        float32x4_t v[5];

        nncc_fft_vector5(x, in, v);
        if (later) {
            v[1] = nncc_fft_turn(v[1], w1);
            v[2] = nncc_fft_turn(v[2], w2);
            v[3] = nncc_fft_turn(v[3], w3);
            v[4] = nncc_fft_turn(v[4], w4);
        }
        vstrwq_f32(y, v[0]);
        vstrwq_f32(y + out, v[1]);
        vstrwq_f32(y + 2 * out, v[2]);
        vstrwq_f32(y + 3 * out, v[3]);
        vstrwq_f32(y + 4 * out, v[4]);
        x += 4;
        y += 4;
        s -= 2;
    } while (s > 0);
}

/* The first pass of radix 4: two groups at a time, behind the first. */
static void nncc_fft_entry4(const float *x, float *y, int32_t m, const float *w)
{
    const int32_t in = 2 * m;
    const int32_t next = 2 * (m - 1);
    const uint64x2_t apart = vreinterpretq_u64_u32(vldrwq_u32(nncc_fft_apart));
    int32_t p = 1;

    nncc_fft_first4(x, in, y, 2, 1);
    for (; p + 2 <= m; p += 2) {
        float32x4_t v[4];

        x += p == 1 ? 2 : 4;
        y += p == 1 ? 8 : 16;
        nncc_fft_vector4(x, in, v);
        for (int32_t k = 0; k < 4; k++) {
            const float32x4_t u = k > 0 ? nncc_fft_turn(v[k], vldrwq_f32(w + (k - 1) * next)) : v[0];

            vstrdq_scatter_offset_u64((uint64_t *)(void *)(y + 2 * k), apart, vreinterpretq_u64_f32(u));
        }
        w += 4;
    }
    if (p < m) {
        nncc_fft_later4(x + (p == 1 ? 2 : 4), in, y + (p == 1 ? 8 : 16), 2, 1, w, next);
    }
}

#endif
