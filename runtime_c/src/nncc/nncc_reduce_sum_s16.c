/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_reduce_sum_s16: with Helium eight values of a row, or four columns, in a load and a sum; else two. */
#include "nncc_fp.h"

#include "nncc_mve.h"
#include "nncc_round.h"
#include "nncc_s16.h"
#include "nncc_simd32.h"

/* Columns that are summed up at once. */
#define NNCC_COLUMNS 8

/* The result of a sum by its definition. */
static int32_t nncc_reduced_s16(const nncc_reduce_s8_params *p, int32_t acc)
{
    double v = (double)acc * p->in_scale;
    v = v / (double)p->divisor;
    return nncc_round_away(v / p->out_scale, p->out_zero, p->act_min, p->act_max);
}

/* The results of n sums of the values themselves. */
static void nncc_reduced_all(const nncc_reduce_s8_params *p, const int32_t *sum, int32_t n, int16_t *y)
{
    const int32_t zero = p->axis * p->in_zero, mult = p->mult, shift = p->shift;
    const int32_t up = mult != 0 ? 32 - shift : 0;
    const int64_t bias = p->bias - p->doubt;
    const uint32_t sure = mult != 0 ? (((uint32_t)1 << shift) - 2u * (uint32_t)p->doubt) << up : 0;
    const int32_t lo = p->act_min, hi = p->act_max;

    for (int32_t i = 0; i < n; i++) {
        const int32_t acc = sum[i] - zero;
        const uint64_t t = (uint64_t)((int64_t)acc * mult + bias);
        const uint32_t low = (uint32_t)(t & 0xffffffffu);

        if (low << up < sure) {
            const int32_t r = (int32_t)(((uint32_t)(t >> 32) << up) | (low >> shift));

            y[i] = (int16_t)(r < lo ? lo : (r > hi ? hi : r));
        } else {
            y[i] = (int16_t)nncc_reduced_s16(p, acc);
        }
    }
}

/* The sum of n values in a row. */
static inline int32_t nncc_halves_sum(const int16_t *x, int32_t n)
{
    int32_t sum = 0;

#if NNCC_MVE
    for (; n >= 8; n -= 8) {
        sum = vaddvaq_s16(sum, vldrhq_s16(x));
        x += 8;
    }
#elif NNCC_SIMD32
    for (; n >= 2; n -= 2) {
        sum = nncc_dual_add(sum, nncc_load_word(x), 0x00010001u);
        x += 2;
    }
#endif
    for (; n > 0; n--) {
        sum += *x++;
    }
    return sum;
}

/* The sums of n columns of rows, `pitch` apart. */
static inline void nncc_columns_sum_s16(const int16_t *x, int32_t rows, int32_t pitch, int32_t n, int32_t *sum)
{
    int32_t c = 0;

#if NNCC_MVE
    for (; n - c >= 4; c += 4) {
        const int16_t *from = x + c;
        int32x4_t s = vdupq_n_s32(0);

        for (int32_t k = rows; k > 0; k--) {
            s = vaddq_s32(s, vldrhq_s32(from));
            from += pitch;
        }
        vstrwq_s32(sum + c, s);
    }
#elif NNCC_SIMD32
    for (; n - c >= 2; c += 2) {
        const int16_t *from = x + c;
        int32_t even = 0, odd = 0;

        for (int32_t k = rows; k > 0; k--) {
            const uint32_t w = nncc_load_word(from);

            even += nncc_low_half(w);
            odd += nncc_high_half(w);
            from += pitch;
        }
        sum[c] = even;
        sum[c + 1] = odd;
    }
#endif
    for (; c < n; c++) {
        const int16_t *from = x + c;
        int32_t s = 0;

        for (int32_t k = rows; k > 0; k--) {
            s += *from;
            from += pitch;
        }
        sum[c] = s;
    }
}

void nncc_reduce_sum_s16(const nncc_reduce_s8_params *p, const int16_t *x, int16_t *y)
{
    const int32_t axis = p->axis, inner = p->inner, all = p->outer * inner;
    int32_t sum[NNCC_COLUMNS], n = NNCC_COLUMNS, column = 0;

    for (int32_t i = 0; i < all; i += n) {
        if (inner == 1) {
            n = all - i < NNCC_COLUMNS ? all - i : NNCC_COLUMNS;
            for (int32_t k = 0; k < n; k++) {
                sum[k] = nncc_halves_sum(x, axis);
                x += axis;
            }
        } else {
            n = inner - column < NNCC_COLUMNS ? inner - column : NNCC_COLUMNS;
            nncc_columns_sum_s16(x + column, axis, inner, n, sum);
            column += n;
            if (column == inner) {
                column = 0;
                x += axis * inner;
            }
        }
        nncc_reduced_all(p, sum, n, y + i);
    }
}
