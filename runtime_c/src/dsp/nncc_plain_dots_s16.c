/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_plain_dots_s16: rows of int16 times one channel after the other, both read where they lie; with the DSP
 * extension two channels, 14 instructions for 8 products.
 */
#include "nncc_dsp_matmul_s16.h"
#include "nncc_simd32.h"

#if NNCC_SIMD32

/* Four weights, as they lie, times inputs 0 and 2, and 1 and 3. */
static inline int32_t four16(int32_t sum, uint32_t even, uint32_t odd, const int8_t *w)
{
    const uint32_t v = nncc_load_word(w);

    return nncc_dual_add(nncc_dual_add(sum, even, nncc_even_bytes(v)), odd, nncc_odd_bytes(v));
}

/* Up to three products. */
static inline int32_t rest16(const int16_t *x, const int8_t *w, int32_t n, int32_t sum)
{
    NNCC_ROLLED
    for (; n > 0; n--) {
        sum += *x++ * *w++;
    }
    return sum;
}

static inline int32_t product16(const int16_t *x, const int8_t *w, int32_t n, int32_t sum)
{
    NNCC_ROLLED
    for (; n >= 4; n -= 4) {
        const uint32_t v = nncc_load_word(x), u = nncc_load_word(x + 2);

        sum = four16(sum, nncc_pack_low(v, u), nncc_pack_high(v, u), w);
        x += 4;
        w += 4;
    }
    return rest16(x, w, n, sum);
}

/* The same by two channels. */
static inline void products16(const int16_t *x, const int8_t *w, const int8_t *z, int32_t n, int32_t sums[2])
{
    int32_t a = sums[0], b = sums[1];

    NNCC_ROLLED
    for (; n >= 4; n -= 4) {
        const uint32_t v = nncc_load_word(x), u = nncc_load_word(x + 2);
        const uint32_t even = nncc_pack_low(v, u), odd = nncc_pack_high(v, u);

        a = four16(a, even, odd, w);
        b = four16(b, even, odd, z);
        x += 4;
        w += 4;
        z += 4;
    }
    sums[0] = rest16(x, w, n, a);
    sums[1] = rest16(x, z, n, b);
}

#else

static inline int32_t product16(const int16_t *x, const int8_t *w, int32_t n, int32_t sum)
{
#if NNCC_THUMB1
    x += n;
    w += n;
    for (int32_t k = -n; k < 0; k++) { /* no register for the end */
        sum += x[k] * w[k];
    }
#else
    for (; n >= 4; n -= 4) {
        sum += x[0] * w[0];
        sum += x[1] * w[1];
        sum += x[2] * w[2];
        sum += x[3] * w[3];
        x += 4;
        w += 4;
    }
    if ((n & 2) != 0) {
        sum += x[0] * w[0];
        sum += x[1] * w[1];
        x += 2;
        w += 2;
    }
    if ((n & 1) != 0) {
        sum += *x * *w;
    }
#endif
    return sum;
}

#endif

/* All channels of a row. */
static inline void nncc_row_dots16(const nncc_plain_dots16_params *p, const int16_t *x, const int32_t *w, int8_t *y)
{
    const int32_t n = p->in_c, low = p->act_min, high = p->act_max;
    int32_t left = p->out_c;

#if NNCC_SIMD32
    for (; left > 1; left -= 2) {
        const int32_t *const next = w + p->channel_words;
        int32_t sums[2] = {w[0], next[0]};

        products16(x, (const int8_t *)(w + 4), (const int8_t *)(next + 4), n, sums);
        nncc_plain_store16(nncc_plain_down16(sums[0], w + 1), low, high, y);
        nncc_plain_store16(nncc_plain_down16(sums[1], next + 1), low, high, y + 2);
        w = next + p->channel_words;
        y += 4;
    }
    if (left == 0) {
        return;
    }
#endif
    do {
        const int32_t sum = product16(x, (const int8_t *)(w + 4), n, w[0]);

        nncc_plain_store16(nncc_plain_down16(sum, w + 1), low, high, y);
        w += p->channel_words;
        y += 2;
        left--;
    } while (left > 0);
}

void nncc_plain_dots_s16(const nncc_plain_dots16_params *p, const int8_t *x, const int32_t *w, int8_t *y)
{
    int32_t lines = p->lines;

    do {
        const int8_t *row = x;

        for (int32_t r = p->rows; r > 0; r--) {
            nncc_row_dots16(p, (const int16_t *)(const void *)row, w, y);
            row += p->in_pitch;
            y += p->out_pitch;
        }
        x += p->line;
        lines--;
    } while (lines > 0);
}
