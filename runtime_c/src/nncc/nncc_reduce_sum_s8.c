/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_columns.h"
#include "nncc_mean.h"
#include "nncc_s8.h"
#include "nncc_simd32.h"

#if !NNCC_MVE
/* The form of words. */
static inline int8_t nncc_reduced_words(const nncc_reduce_s8_params *p, int32_t sum)
{
    const int32_t acc = (sum - p->axis * p->in_zero) * (1 << p->up);
    const int32_t v = ((int32_t)((int64_t)acc * p->mult >> 32) + (int32_t)p->bias) >> p->shift;

    return (int8_t)(v < p->act_min ? p->act_min : (v > p->act_max ? p->act_max : v));
}
#endif

/* The result of a sum of the values themselves. */
static int8_t nncc_reduced(const nncc_reduce_s8_params *p, int32_t sum)
{
    const int32_t acc = sum - p->axis * p->in_zero;

#if !NNCC_MVE
    if (p->up != 0) {
        return nncc_reduced_words(p, sum);
    }
#endif
    if (p->mult != 0) {
        return nncc_mean_mult_s8(acc, p->mult, p->bias, p->shift, p->act_min, p->act_max);
    }
    return p->rescale != 0
               ? nncc_mean_scaled_s8(acc, p->in_scale, p->divisor, p->out_scale, p->out_zero, p->act_min, p->act_max)
               : nncc_mean_s8(acc, p->divisor, p->out_zero, p->act_min, p->act_max);
}

#if NNCC_MVE

/* The results of four sums. */
static inline int32x4_t nncc_reduced4(const nncc_reduce_s8_params *p, int32x4_t sum)
{
    const int32x4_t acc = vshlq_r_s32(vsubq_n_s32(sum, p->axis * p->in_zero), p->up);
    const int32x4_t v = vaddq_n_s32(vmulhq_s32(acc, vdupq_n_s32(p->mult)), (int32_t)p->bias);

    return nncc_limit4(vshlq_r_s32(v, -p->shift), vdupq_n_s32(p->act_min), vdupq_n_s32(p->act_max));
}

/* The results of eight sums. */
static inline int16x8_t nncc_reduced8(const nncc_reduce_s8_params *p, int16x8_t sum)
{
    const int32x4_t even = nncc_reduced4(p, vmovlbq_s16(sum)), odd = nncc_reduced4(p, vmovltq_s16(sum));

    return vmovntq_s32(vreinterpretq_s16_s32(even), odd);
}

/* The form of words, of sixteen columns at a time, then eight: sums of halfwords, of 255 rows at most. */
static void nncc_reduce_columns(const nncc_reduce_s8_params *p, const int8_t *x, int8_t *y)
{
    const nncc_reduce_s8_params q = *p; /* no store changes it */
    int32_t left = q.inner;

    for (; left >= 16; left -= 16) {
        int16x8_t a = vdupq_n_s16(0), b = a;
        const int8_t *from = x;

        for (int32_t k = q.axis; k > 0; k--) {
            a = vaddq_s16(a, vldrbq_s16(from));
            b = vaddq_s16(b, vldrbq_s16(from + 8));
            from += q.inner;
        }
        vstrbq_s16(y, nncc_reduced8(&q, a));
        vstrbq_s16(y + 8, nncc_reduced8(&q, b));
        x += 16;
        y += 16;
    }
    for (; left > 0; left -= 8) {
        const int16x8_t sum = nncc_columns_sum(x, q.axis, q.inner, left);

        vstrbq_p_s16(y, nncc_reduced8(&q, sum), vctp16q((uint32_t)left));
        x += 8;
        y += 8;
    }
}

/* The same of rows, four at a time. */
static void nncc_reduce_rows(const nncc_reduce_s8_params *p, const int8_t *x, int8_t *y)
{
    const nncc_reduce_s8_params q = *p;

    for (int32_t left = q.outer; left > 0; left -= 4) {
        int32_t sum[4] = {0};

        for (int32_t k = 0; k < 4 && k < left; k++) {
            sum[k] = nncc_bytes_sum(x, q.axis);
            x += q.axis;
        }
        vstrbq_p_s32(y, nncc_reduced4(&q, vldrwq_s32(sum)), vctp32q((uint32_t)left));
        y += 4;
    }
}

#else

/* The form of words, of four columns at a time where halfwords are added. */
static void nncc_reduce_columns(const nncc_reduce_s8_params *p, const int8_t *x, int8_t *y)
{
    const nncc_reduce_s8_params q = *p; /* no store changes it */
    int32_t i = 0;

#if NNCC_SIMD32
    for (; i + 4 <= q.inner; i += 4) {
        const int8_t *from = x + i;
        uint32_t even = 0, odd = 0;

        for (int32_t k = q.axis; k > 0; k--) {
            const uint32_t w = nncc_load_word_at(from);

            even = nncc_add_even(even, w);
            odd = nncc_add_odd(odd, w);
            from += q.inner;
        }
        y[i] = nncc_reduced_words(&q, nncc_low_half(even));
        y[i + 1] = nncc_reduced_words(&q, nncc_low_half(odd));
        y[i + 2] = nncc_reduced_words(&q, nncc_high_half(even));
        y[i + 3] = nncc_reduced_words(&q, nncc_high_half(odd));
    }
#endif
    for (; i < q.inner; i++) {
        int32_t sum = 0;

        for (int32_t k = 0; k < q.axis; k++) {
            sum += x[k * q.inner + i];
        }
        y[i] = nncc_reduced_words(&q, sum);
    }
}

#endif

void nncc_reduce_sum_s8(const nncc_reduce_s8_params *p, const int8_t *x, int8_t *y)
{
    const int32_t inner = p->inner;

#if NNCC_MVE
    if (inner == 1 && p->up != 0) {
        nncc_reduce_rows(p, x, y);
        return;
    }
#endif
    for (int32_t o = 0; o < p->outer; o++) {
        if (inner == 1) {
            *y++ = nncc_reduced(p, nncc_bytes_sum(x, p->axis));
        } else if (p->mult != 0 && p->up != 0) {
            nncc_reduce_columns(p, x, y);
            y += inner;
        } else {
            for (int32_t i = 0; i < inner; i += NNCC_COLUMNS) {
                const int32_t n = inner - i < NNCC_COLUMNS ? inner - i : NNCC_COLUMNS;
                int32_t sum[NNCC_COLUMNS] = {0};

                nncc_columns_add(x + i, p->axis, inner, n, sum);
                for (int32_t k = 0; k < n; k++) {
                    *y++ = nncc_reduced(p, sum[k]);
                }
            }
        }
        x += p->axis * inner;
    }
}
