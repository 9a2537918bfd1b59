/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_avg_pool_s8: four channels at a time in two words of 16-bit sums, at most 255 elements before they are added
 * to 32-bit ones.
 */
#include "nncc_dsp_pool.h"

#define BLOCK 255

/* Sums of four channels over rows of cols pixels, step bytes apart. */
static void sum_window(const int8_t *x, int32_t rows, int32_t cols, int32_t step, int32_t row, int32_t sums[4])
{
    int32_t a = 0, b = 0, c = 0, d = 0;

    int32_t even = 0, odd = 0, left = BLOCK;

    do {
        const int8_t *from = x;
        int32_t rest = cols;

        do {
            int32_t n = rest < left ? rest : left, v;

            rest -= n;
            left -= n;
#if !NNCC_DSP_ASM
            for (; n > 0; n--) {
                v = nncc_dsp_load4(from);
                even = (int32_t)nncc_add16((uint32_t)even, (uint32_t)nncc_dsp_even(v));
                odd = (int32_t)nncc_add16((uint32_t)odd, (uint32_t)nncc_dsp_odd(v));
                from += step;
            }
#else
            __asm volatile("1:\n ldr %[v], [%[x]]\n add %[x], %[x], %[step]\n subs %[n], %[n], #1\n"
                           "sxtab16 %[e], %[e], %[v]\n sxtab16 %[o], %[o], %[v], ror #8\n bne 1b\n"
                           : [v] "=&r"(v), [x] "+r"(from), [n] "+r"(n), [e] "+r"(even), [o] "+r"(odd)
                           : [step] "r"(step)
                           : "memory", "cc");
#endif
            if (left == 0) {
                a += nncc_dsp_lo(even);
                b += nncc_dsp_lo(odd);
                c += nncc_dsp_hi(even);
                d += nncc_dsp_hi(odd);
                even = 0;
                odd = 0;
                left = BLOCK;
            }
        } while (rest > 0);
        x += row;
    } while (--rows > 0);
    a += nncc_dsp_lo(even);
    b += nncc_dsp_lo(odd);
    c += nncc_dsp_hi(even);
    d += nncc_dsp_hi(odd);
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

/* Ties go away from zero; the mean of bytes is one. */
static int8_t mean(int32_t sum, int32_t count)
{
    const int32_t sign = sum >> 31;

    return (int8_t)((sum + (((count >> 1) ^ sign) - sign)) / count);
}

/* The window that begins at x. */
static void window_mean(const nncc_dsp_pool_params *p, const int8_t *x, int32_t rows, int32_t cols, int8_t *y)
{
    const int32_t count = rows * cols, step = p->channels, row = p->in_w * step;
    int32_t c = 0;

    if (cols == p->in_w) { /* whole rows follow each other */
        cols = count;
        rows = 1;
    }
    for (; c + 4 <= step; c += 4) {
        int32_t sums[4];

        sum_window(x, rows, cols, step, row, sums);
        for (int32_t i = 0; i < 4; i++) {
            *y++ = mean(sums[i], count);
        }
        x += 4;
    }
    for (; c < step; c++) {
        int32_t sum = 0;

        for (int32_t i = 0; i < rows; i++) {
            const int8_t *from = x + i * row;

            for (int32_t k = cols; k > 0; k--) {
                sum += *from;
                from += step;
            }
        }
        *y++ = mean(sum, count);
        x++;
    }
}

void nncc_dsp_avg_pool_s8(const nncc_dsp_pool_params *p, const int8_t *x, int8_t *y)
{
    nncc_dsp_pool_windows(p, window_mean, x, y);
}
