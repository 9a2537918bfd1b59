/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_avg_pool_sliding_s8: sums of columns in 16 bits, then sums and means of four at a time. */
#include "nncc_bits.h"
#include "nncc_dsp_sliding.h"

#if NNCC_SIMD32

/* Sums of rows; a single row counts twice. */
static void sum_columns(const int8_t *x, int32_t row, int32_t rows, int32_t n, void *to)
{
    int16_t *sums = (int16_t *)to;

    if (rows == 1) {
        row = 0;
        rows = 2;
    }
    for (; n >= 8; n -= 8) {
        const int8_t *from = x;
        uint32_t even = 0, odd = 0, even2 = 0, odd2 = 0;

        for (int32_t r = rows; r > 0; r--) {
            const uint32_t v = nncc_load_word(from), w = nncc_load_word(from + 4);

            from += row;
            even = nncc_add_even(even, v);
            odd = nncc_add_odd(odd, v);
            even2 = nncc_add_even(even2, w);
            odd2 = nncc_add_odd(odd2, w);
        }
        nncc_store_word(sums, nncc_pack_low(even, odd));
        nncc_store_word(sums + 2, nncc_pack_high(even, odd));
        nncc_store_word(sums + 4, nncc_pack_low(even2, odd2));
        nncc_store_word(sums + 6, nncc_pack_high(even2, odd2));
        sums += 8;
        x += 8;
    }
    for (; n > 0; n--) {
        int32_t sum = 0;

        for (int32_t r = 0; r < rows; r++) {
            sum += x[r * row];
        }
        *sums++ = (int16_t)sum;
        x++;
    }
}

/*
 * Means of four columns' sums: sum * mult / 2^32 + 1/2, rounded down. mult is 2^32 / count and a bit more, which takes
 * ties away from zero: exact for 3 to 128 bytes and for even counts of up to 254.
 */
static inline uint32_t mean4(const int16_t *from, int32_t step, int32_t cols, int32_t mult)
{
    const int32_t half = 0x808000; /* and 128 */
#if NNCC_SIMD32_ASM
    uint32_t a, b, t, u;

    __asm volatile("ldr %[a], [%[x]]\n ldr %[b], [%[x], #4]\n subs %[n], #1\n beq 2f\n"
                   "1: add %[x], %[step]\n ldr %[t], [%[x]]\n ldr %[u], [%[x], #4]\n subs %[n], #1\n"
                   "sadd16 %[a], %[a], %[t]\n sadd16 %[b], %[b], %[u]\n bne 1b\n"
                   "2: smlawb %[t], %[m], %[a], %[h]\n smlawt %[a], %[m], %[a], %[h]\n"
                   "smlawb %[u], %[m], %[b], %[h]\n smlawt %[b], %[m], %[b], %[h]\n"
                   "pkhtb %[t], %[u], %[t], asr #16\n pkhtb %[a], %[b], %[a], asr #16\n"
                   "orr %[t], %[t], %[a], lsl #8\n eor %[t], #0x80808080\n"
                   : [a] "=&r"(a), [b] "=&r"(b), [t] "=&r"(t), [u] "=&r"(u), [x] "+r"(from), [n] "+r"(cols)
                   : [step] "r"(2 * step), [m] "r"(mult), [h] "r"(half)
                   : "memory", "cc");
    return t;
#else
    uint32_t a = nncc_load_word(from), b = nncc_load_word(from + 2);
    uint32_t even, odd;

    for (; cols > 1; cols--) {
        from += step;
        a = nncc_add16(a, nncc_load_word(from));
        b = nncc_add16(b, nncc_load_word(from + 2));
    }
    even = nncc_pack_high((uint32_t)nncc_scale_low(half, mult, a), (uint32_t)nncc_scale_low(half, mult, b));
    odd = nncc_pack_high((uint32_t)nncc_scale_high(half, mult, a), (uint32_t)nncc_scale_high(half, mult, b));
    return (even | (odd << 8)) ^ 0x80808080u;
#endif
}

static void mean_across(const nncc_dsp_windows *w, const void *sums, int8_t *y)
{
    const int16_t *from = (const int16_t *)sums;
    const int32_t rows = w->rows == 1 ? 2 : w->rows;
    const int32_t single = rows * w->cols < 3; /* a single column counts twice, too: 2^32 / 2 is too large */
    const int32_t cols = single ? 2 : w->cols, step = single ? 0 : w->step;
    const uint32_t size = (uint32_t)(rows * cols);
    const int32_t mult = (int32_t)(0xffffffffu / size + 0x20000u / size + 2u);

    for (int32_t k = w->count; k > 0; k--) {
        const int16_t *v = from;
        int32_t n = w->n;

        do {
            uint32_t mean = mean4(v, step, cols, mult);

            if (n < 4) {
                for (; n > 0; n--) {
                    *y++ = nncc_dsp_byte((int32_t)mean);
                    mean >>= 8;
                }
                break;
            }
            nncc_store_word(y, mean);
            v += 4;
            y += 4;
            n -= 4;
        } while (n > 0);
        from += w->next;
    }
}

#else

/* Sums of rows, of bytes 128 larger. */
static void sum_columns(const int8_t *x, int32_t row, int32_t rows, int32_t n, void *to)
{
    uint16_t *sums = (uint16_t *)to;

    if (nncc_words_fit(x, to, row) != 0) {
        for (; n >= 4; n -= 4) {
            const int8_t *from = x;
            uint32_t even = 0, odd = 0;

            for (int32_t r = rows; r > 0; r--) {
                const uint32_t v = nncc_load_word_at(from) ^ 0x80808080u;

                from += row;
                even += v & 0xff00ffu;
                odd += v >> 8 & 0xff00ffu;
            }
            nncc_store_word_at(sums, nncc_pack_low(even, odd));
            nncc_store_word_at(sums + 2, nncc_pack_high(even, odd));
            sums += 4;
            x += 4;
        }
    }
    for (; n > 0; n--) {
        const int8_t *from = x++;
        int32_t sum = 0;

        for (int32_t r = rows; r > 0; r--) {
            sum += *from + 128;
            from += row;
        }
        *sums++ = (uint16_t)sum;
    }
}

/* sum + start is less than 2^16, and its product with mult the mean plus 128, exactly for up to 185 bytes; in an even
 * number of bytes sums from zero on are one larger (tie): their ties go up, those of negative sums down. */
typedef struct
{
    uint32_t start, tie, zero, mult;
    int32_t shift;
} nncc_mean;

static inline uint32_t mean_of(const nncc_mean *m, uint32_t sum)
{
    sum += m->start;
    return (sum + (sum >= m->zero ? m->tie : 0u)) * m->mult >> m->shift;
}

static void mean_across(const nncc_dsp_windows *w, const void *sums, int8_t *y)
{
    const uint16_t *from = (const uint16_t *)sums;
    const int32_t single = w->rows * w->cols == 1 ? 1 : 0; /* counts twice: 2^16 is too large */
    const int32_t cols = w->cols + single, step = single != 0 ? 0 : w->step;
    const uint32_t count = (uint32_t)(w->rows * cols), log = 31u - (uint32_t)nncc_leading_zeros(count - 1u);
    nncc_mean m;

    m.tie = (count & 1u) ^ 1u;
    m.start = (count >> 1) - m.tie;
    m.zero = m.start + 128u * count;
    m.mult = ((0x10000u << log) + count - 1u) / count;
    m.shift = (int32_t)(16u + log);
    for (int32_t k = w->count; k > 0; k--) {
        const uint16_t *v = from;
        int32_t n = w->n;

        if (nncc_words_fit(v, y, 2 * step) != 0) {
            for (; n >= 4; n -= 4) {
                const uint16_t *at = v;
                uint32_t a = 0, b = 0;

                for (int32_t c = cols; c > 0; c--) {
                    a += nncc_load_word_at(at);
                    b += nncc_load_word_at(at + 2);
                    at += step;
                }
                nncc_store_word_at(y, (mean_of(&m, a & 0xffffu) | mean_of(&m, a >> 16) << 8 |
                                       mean_of(&m, b & 0xffffu) << 16 | mean_of(&m, b >> 16) << 24) ^
                                          0x80808080u);
                v += 4;
                y += 4;
            }
        }
        for (; n > 0; n--) {
            const uint16_t *at = v++;
            uint32_t sum = 0;

            for (int32_t c = cols; c > 0; c--) {
                sum += *at;
                at += step;
            }
            *y++ = nncc_dsp_byte((int32_t)mean_of(&m, sum) - 128);
        }
        from += w->next;
    }
}

#endif

void nncc_dsp_avg_pool_sliding_s8(const nncc_dsp_sliding_pool_params *p, const int8_t *x, int8_t *y, int32_t *scratch)
{
    nncc_dsp_slide(p, sum_columns, mean_across, 2, x, y, scratch);
}
