/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_group_norm_s8: four channels at a time, down all pixels: once for the sums, once for the results. A single
 * channel counts as four, which are its every fourth value.
 */
#include "nncc_norm_s8.h"

#include "nncc_simd32.h"

/* Channels that are worked on together. */
#define NNCC_NORM_LANES 4

/* Adds the values of 1 to 4 channels, `pitch` apart from pixel to pixel, to their sums. */
#if NNCC_MVE

#define NNCC_NORM_SUM(what) \
    for (; rows > 0; rows--) { \
        const int32x4_t v = NNCC_GET4##what(x); \
\
        s = vaddq_s32(s, v); \
        q = vaddq_s32(q, vmulq_s32(v, v)); \
        x += pitch; \
    }

static void nncc_norm_columns(const int8_t *x, int32_t rows, int32_t pitch, int32_t lanes, int32_t *sum,
                              uint32_t *square)
{
    int32x4_t s = vdupq_n_s32(0), q = s;

    if (lanes == NNCC_NORM_LANES) {
        NNCC_NORM_SUM()
    } else {
        const mve_pred16_t rest = vctp32q((uint32_t)lanes);

        NNCC_NORM_SUM(_REST)
    }
    vstrwq_s32(sum, s);
    vstrwq_u32(square, vreinterpretq_u32_s32(q));
}

#define NNCC_NORM_SCALE(what) \
    for (; rows > 0; rows--) { \
        const int32x4_t v = vaddq_s32(vmulq_s32(NNCC_GET4##what(x), a), b); \
\
        NNCC_PUT4##what(y, vshrq_n_s32(vqshlq_r_s32(v, up), 24)); \
        x += pitch; \
        y += pitch; \
    }

static void nncc_norm_scaled(const int8_t *x, int32_t rows, int32_t pitch, int32_t lanes, const int32_t *scale,
                             const int32_t *offset, int32_t shift, int8_t *y)
{
    const int32x4_t a = vldrwq_s32(scale), b = vldrwq_s32(offset);
    const int32_t up = 24 - shift;

    if (lanes == NNCC_NORM_LANES) {
        NNCC_NORM_SCALE()
    } else {
        const mve_pred16_t rest = vctp32q((uint32_t)lanes);

        NNCC_NORM_SCALE(_REST)
    }
}

#else

static void nncc_norm_columns(const int8_t *x, int32_t rows, int32_t pitch, int32_t lanes, int32_t *sum,
                              uint32_t *square)
{
#if NNCC_SIMD32
    if (lanes == NNCC_NORM_LANES) {
        int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0;

        NNCC_ROLLED
        for (; rows > 0; rows--) {
            const uint32_t w = nncc_load_word(x);
            const int32_t even = (int32_t)nncc_even_bytes(w), odd = (int32_t)nncc_odd_bytes(w);

            x += pitch;
            s0 += nncc_low_half((uint32_t)even);
            s2 += even >> 16;
            q0 = __smlabb(even, even, q0);
            q2 = __smlatt(even, even, q2);
            s1 += nncc_low_half((uint32_t)odd);
            s3 += odd >> 16;
            q1 = __smlabb(odd, odd, q1);
            q3 = __smlatt(odd, odd, q3);
        }
        sum[0] = s0;
        sum[1] = s1;
        sum[2] = s2;
        sum[3] = s3;
        square[0] = (uint32_t)q0;
        square[1] = (uint32_t)q1;
        square[2] = (uint32_t)q2;
        square[3] = (uint32_t)q3;
        return;
    }
#endif
    for (int32_t c = 0; c < lanes; c++) {
        const int8_t *from = x + c;
        int32_t s = 0;
        uint32_t q = 0;

        for (int32_t r = 0; r < rows; r++) {
            const int32_t v = *from;

            s += v;
            q += (uint32_t)(v * v);
            from += r + 1 < rows ? pitch : 0;
        }
        sum[c] = s;
        square[c] = q;
    }
}

#if NNCC_SIMD32
#define NNCC_NORM_RESULT(c) \
    y[c] = (int8_t)nncc_narrow8((int32_t)((uint32_t)x[c] * (uint32_t)a##c + (uint32_t)b##c) >> 16)
#endif

static void nncc_norm_scaled(const int8_t *x, int32_t rows, int32_t pitch, int32_t lanes, const int32_t *scale,
                             const int32_t *offset, int32_t shift, int8_t *y)
{
#if NNCC_SIMD32
    if (shift == 16 && lanes == NNCC_NORM_LANES) {
        const int32_t a0 = scale[0], a1 = scale[1], a2 = scale[2], a3 = scale[3];
        const int32_t b0 = offset[0], b1 = offset[1], b2 = offset[2], b3 = offset[3];

        NNCC_ROLLED
        for (; rows > 0; rows--) {
            NNCC_NORM_RESULT(0);
            NNCC_NORM_RESULT(1);
            NNCC_NORM_RESULT(2);
            NNCC_NORM_RESULT(3);
            x += pitch;
            y += pitch;
        }
        return;
    }
    if (shift == 16) {
        for (int32_t c = 0; c < lanes; c++) {
            const uint32_t a = (uint32_t)scale[c], b = (uint32_t)offset[c];

            for (int32_t at = c, r = 0; r < rows; r++, at += pitch) {
                y[at] = (int8_t)nncc_narrow8((int32_t)((uint32_t)x[at] * a + b) >> 16);
            }
        }
        return;
    }
#endif
    for (int32_t c = 0; c < lanes; c++) {
        for (int32_t at = c, r = 0; r < rows; r++, at += pitch) {
            y[at] = nncc_norm_narrow((uint32_t)x[at] * (uint32_t)scale[c] + (uint32_t)offset[c], shift);
        }
    }
}

#endif

/* Adds the values of 1 to 4 channels, of any number of pixels, to their sums. */
static void nncc_norm_sum_columns(const int8_t *x, int32_t rows, int32_t pitch, int32_t lanes, nncc_norm_sums *s)
{
    while (rows > 0) {
        const int32_t part = rows < NNCC_NORM_CHUNK ? rows : NNCC_NORM_CHUNK;
        int32_t sum[NNCC_NORM_LANES];
        uint32_t square[NNCC_NORM_LANES];

        nncc_norm_columns(x, part, pitch, lanes, sum, square);
        for (int32_t c = 0; c < lanes; c++) {
            s[c].sum += sum[c];
            s[c].square += square[c];
        }
        rows -= part;
        x += rows > 0 ? part * pitch : 0;
    }
}

/* The scale and the offset of a channel whose group is normalised by k. */
static inline void nncc_norm_channel(const nncc_norm_scale *k, const int32_t *terms, int32_t *scale, int32_t *offset)
{
    const uint64_t a = (uint64_t)(int64_t)terms[0];

    *scale = (int32_t)(uint32_t)(uint64_t)(((int64_t)k->scale * terms[0] + 0x8000) >> 16);
    *offset = (int32_t)((uint32_t)terms[1] - (uint32_t)(uint64_t)((int64_t)((uint64_t)k->offset * a + 0x8000u) >> 16));
}

/* Whole groups that have at most four channels together. */
static void nncc_norm_narrow_groups(const nncc_group_norm_s8_params *p, const int8_t *x, int32_t width, int32_t lanes,
                                    const int32_t *terms, int8_t *y)
{
    nncc_norm_sums s[NNCC_NORM_LANES] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    int32_t scale[NNCC_NORM_LANES], offset[NNCC_NORM_LANES];

    nncc_norm_sum_columns(x, p->spatial, p->channels, lanes, s);
    for (int32_t first = 0; first < lanes; first += width) {
        nncc_norm_sums all = {0, 0};

        for (int32_t c = first; c < first + width; c++) {
            all.sum += s[c].sum;
            all.square += s[c].square;
        }
        nncc_norm_scale k; /* set by itself: Clang, where it is declared with its value, keeps more on the stack */

        k = nncc_norm_of(&p->norm, p->spatial * width, &all, 1, 0);
        for (int32_t c = first; c < first + width; c++) {
            nncc_norm_channel(&k, terms + 2 * c, scale + c, offset + c);
        }
    }
    nncc_norm_scaled(x, p->spatial, p->channels, lanes, scale, offset, p->norm.shift, y);
}

/* One group of more than four channels. */
static void nncc_norm_wide_group(const nncc_group_norm_s8_params *p, const int8_t *x, int32_t width,
                                 const int32_t *terms, int8_t *y)
{
    nncc_norm_sums all = {0, 0};
    nncc_norm_scale k;

    for (int32_t c = 0; c < width; c += NNCC_NORM_LANES) {
        const int32_t lanes = width - c < NNCC_NORM_LANES ? width - c : NNCC_NORM_LANES;
        nncc_norm_sums s[NNCC_NORM_LANES] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};

        nncc_norm_sum_columns(x + c, p->spatial, p->channels, lanes, s);
        for (int32_t i = 0; i < lanes; i++) {
            all.sum += s[i].sum;
            all.square += s[i].square;
        }
    }
    k = nncc_norm_of(&p->norm, p->spatial * width, &all, 1, 0);
    for (int32_t c = 0; c < width; c += NNCC_NORM_LANES) {
        const int32_t lanes = width - c < NNCC_NORM_LANES ? width - c : NNCC_NORM_LANES;
        int32_t scale[NNCC_NORM_LANES] = {0, 0, 0, 0}, offset[NNCC_NORM_LANES] = {0, 0, 0, 0};

        for (int32_t i = 0; i < lanes; i++) {
            nncc_norm_channel(&k, terms + 2 * (c + i), scale + i, offset + i);
        }
        nncc_norm_scaled(x + c, p->spatial, p->channels, lanes, scale, offset, p->norm.shift, y + c);
    }
}

/* The only channel, whose values are neighbours. */
static void nncc_norm_line(const nncc_group_norm_s8_params *p, const int8_t *x, const int32_t *terms, int8_t *y)
{
    const int32_t fours = p->spatial / NNCC_NORM_LANES, done = NNCC_NORM_LANES * fours;
    int32_t scale[NNCC_NORM_LANES], offset[NNCC_NORM_LANES];
    nncc_norm_sums s = {0, 0};

    nncc_norm_add(x, p->spatial, &s);
    nncc_norm_scale k;

    k = nncc_norm_of(&p->norm, p->spatial, &s, 1, 0);
    for (int32_t c = 0; c < NNCC_NORM_LANES; c++) {
        nncc_norm_channel(&k, terms, scale + c, offset + c);
    }
    if (fours > 0) {
        nncc_norm_scaled(x, fours, NNCC_NORM_LANES, NNCC_NORM_LANES, scale, offset, p->norm.shift, y);
    }
    if (done < p->spatial) {
        nncc_norm_scaled(x + done, 1, NNCC_NORM_LANES, p->spatial - done, scale, offset, p->norm.shift, y + done);
    }
}

void nncc_group_norm_s8(const nncc_group_norm_s8_params *p, const int8_t *x, const int32_t *terms, int8_t *y)
{
    const int32_t width = p->channels / p->groups;
    const int32_t together = width > NNCC_NORM_LANES ? width : NNCC_NORM_LANES / width * width;

    for (int32_t b = 0; b < p->batch; b++) {
        for (int32_t c = 0; c < p->channels; c += together) {
            const int32_t lanes = p->channels - c < together ? p->channels - c : together;

            if (p->channels == 1) {
                nncc_norm_line(p, x, terms, y);
            } else if (width > NNCC_NORM_LANES) {
                nncc_norm_wide_group(p, x + c, width, terms + 2 * c, y + c);
            } else {
                nncc_norm_narrow_groups(p, x + c, width, lanes, terms + 2 * c, y + c);
            }
        }
        x += p->spatial * p->channels;
        y += p->spatial * p->channels;
    }
}
