/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_avg_pool_s16: four channels in a load and a sum with Helium, two in a load and two sums elsewhere. */
#include "nncc_wide_pool.h"

#if NNCC_WIDE_MVE

static inline int32x4_t nncc_sum_window(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32_t c,
                                        mve_pred16_t some)
{
    const int16_t *row = w->x + c;
    int32x4_t sum = vdupq_n_s32(0);

    for (int32_t r = w->rows; r > 0; r--) {
        const int16_t *in = row;

        for (int32_t k = w->cols; k > 0; k--) {
            sum = vaddq_s32(sum, vldrhq_z_s32(in, some));
            in += p->channels;
        }
        row += w->pitch;
    }
    return sum;
}

/* Sums below 2^31 divided: factor is 2^(32 + shift) / count, rounded up, 2^shift < count. */
static inline int32x4_t nncc_mean4(int32x4_t sum, int32_t half, uint32_t factor, int32_t shift)
{
    const int32x4_t sign = vshrq_n_s32(sum, 31);
    const uint32x4_t m = vaddq_n_u32(vreinterpretq_u32_s32(vabsq_s32(sum)), (uint32_t)half);
    const int32x4_t q = vreinterpretq_s32_u32(vshlq_r_u32(vmulhq_u32(m, vdupq_n_u32(factor)), -shift));

    return vsubq_s32(veorq_s32(q, sign), sign);
}

static void nncc_avg_window(const nncc_pool_s16_params *p, nncc_wide_part *w, int16_t *y)
{
    const int32_t count = w->rows * w->cols, half = count / 2;
    const int32x4_t lo = vdupq_n_s32(p->act_min), hi = vdupq_n_s32(p->act_max);

    if (count > 1 && count != w->count) {
        w->count = count;
        for (w->shift = 0; (count - 1) >> (w->shift + 1) != 0; w->shift++) {
        }
        w->factor = (uint32_t)((((uint64_t)1 << (32 + w->shift)) - 1) / (uint32_t)count) + 1u;
    }
    for (int32_t c = 0; c < p->channels; c += 4) {
        const mve_pred16_t some = vctp32q((uint32_t)(p->channels - c));
        int32x4_t v = nncc_sum_window(p, w, c, some);

        if (count > 1) {
            v = nncc_mean4(v, half, w->factor, w->shift);
        }
        vstrhq_p_s32(y + c, vminq_s32(vmaxq_s32(v, lo), hi), some);
    }
}

#else

static inline int16_t nncc_mean(const nncc_pool_s16_params *p, int32_t sum, int32_t count)
{
    const int32_t v = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;

    return (int16_t)(v < p->act_min ? p->act_min : (v > p->act_max ? p->act_max : v));
}

static void nncc_avg_window(const nncc_pool_s16_params *p, nncc_wide_part *w, int16_t *y)
{
    const int32_t count = w->rows * w->cols, step = p->channels;
    int32_t c = 0;

#if NNCC_WIDE_WORDS
    for (; c + 2 <= step; c += 2) {
        const int16_t *row = w->x + c;
        int32_t even = 0, odd = 0;

        NNCC_ROLLED
        for (int32_t r = w->rows; r > 0; r--) {
            const int16_t *in = row;

            NNCC_ROLLED
            for (int32_t k = w->cols; k > 0; k--) {
                const uint32_t two = nncc_wide_two(in);

                even += (int16_t)two;
                odd += (int32_t)two >> 16;
                in += step;
            }
            row += w->pitch;
        }
        y[c] = nncc_mean(p, even, count);
        y[c + 1] = nncc_mean(p, odd, count);
    }
#endif
    for (; c < step; c++) {
        const int16_t *row = w->x + c;
        int32_t sum = 0;

        NNCC_ROLLED
        for (int32_t r = w->rows; r > 0; r--) {
            const int16_t *in = row;

            NNCC_ROLLED
            for (int32_t k = w->cols; k > 0; k--) {
                sum += *in;
                in += step;
            }
            row += w->pitch;
        }
        y[c] = nncc_mean(p, sum, count);
    }
}

#endif

void nncc_avg_pool_s16(const nncc_pool_s16_params *p, const int16_t *x, int16_t *y)
{
    NNCC_WIDE_POOL(p, x, y, nncc_avg_window);
}
