/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_avg_pool_s16: eight channels a turn and four in a load with Helium, two in a load elsewhere. */
#include "nncc_simd32.h"
#include "nncc_wide_pool.h"

/* Thumb-1 has no division either. */
#if NNCC_WIDE_MVE || (defined(__thumb__) && !defined(__thumb2__))
#define NNCC_MEAN_FACTOR 1

/* What divides sums below 2^31 by a number of elements up to 2^16: 2^(32 + shift) / count, rounded up, 2^shift < count.
 */
static void nncc_mean_factor(nncc_wide_part *w, int32_t count)
{
    const uint32_t by = (uint32_t)count;
    uint32_t high, rest;
    int32_t shift = 0;

    if (count == w->count) {
        return;
    }
    w->count = count;
    while ((count - 1) >> (shift + 1) != 0) {
        shift++;
    }
    w->shift = shift;
#if NNCC_WIDE_MVE
    rest = (1u << (shift + 16)) - 1u;
    high = rest / by;
    rest = ((rest - high * by) << 16) | 0xffffu;
    w->factor = (high << 16) + rest / by + 1u;
#else
    rest = (1u << shift) - 1u;
    high = 0;
    for (int32_t bits = 32; bits > 0; bits--) {
        rest = 2u * rest + 1u;
        high *= 2u;
        if (rest >= by) {
            rest -= by;
            high++;
        }
    }
    w->factor = high + 1u;
#endif
}
#else
#define NNCC_MEAN_FACTOR 0

static inline void nncc_mean_factor(nncc_wide_part *w, int32_t count)
{
    w->count = count;
}
#endif

/* What is done for every pixel of a window, whose channel c is at `in`. */
#define NNCC_AVG_SUMS(sums) \
    do { \
        const int16_t *row = w->x + c; \
\
        for (int32_t r = w->rows; r > 0; r--) { \
            const int16_t *in = row; \
\
            for (int32_t k = w->cols; k > 0; k--) { \
                sums; \
                in += p->channels; \
            } \
            row += w->pitch; \
        } \
    } while (0)

#if NNCC_WIDE_MVE

/* Sums below 2^31 divided and limited. */
static inline int32x4_t nncc_mean4(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32x4_t sum)
{
    const int32x4_t sign = vshrq_n_s32(sum, 31);
    const uint32x4_t m = vaddq_n_u32(vreinterpretq_u32_s32(vabsq_s32(sum)), (uint32_t)w->count >> 1);
    const uint32x4_t q = vshlq_r_u32(vmulhq_u32(m, vdupq_n_u32(w->factor)), -w->shift);
    const int32x4_t v = vsubq_s32(veorq_s32(vreinterpretq_s32_u32(q), sign), sign);

    return vminq_s32(vmaxq_s32(v, vdupq_n_s32(p->act_min)), vdupq_n_s32(p->act_max));
}

/* The channels from c on, and those d behind them. */
static inline void nncc_avg_eight(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32_t c, int32_t d,
                                  int16_t *y)
{
    int32x4_t s = vdupq_n_s32(0), t = vdupq_n_s32(0);

    NNCC_AVG_SUMS(s = vaddq_s32(s, vldrhq_s32(in)); t = vaddq_s32(t, vldrhq_s32(in + d)));
    vstrhq_s32(y + c, nncc_mean4(p, w, s));
    vstrhq_s32(y + c + d, nncc_mean4(p, w, t));
}

/* Fewer than four. */
static inline void nncc_avg_few(const nncc_pool_s16_params *p, const nncc_wide_part *w, int16_t *y)
{
    const int32_t c = 0;
    const mve_pred16_t some = vctp32q((uint32_t)p->channels);
    int32x4_t s = vdupq_n_s32(0);

    NNCC_AVG_SUMS(s = vaddq_s32(s, vldrhq_z_s32(in, some)));
    vstrhq_p_s32(y, nncc_mean4(p, w, s), some);
}

static void nncc_avg_window(const nncc_pool_s16_params *p, nncc_wide_part *w, int16_t *y)
{
    const int32_t n = p->channels;
    int32_t c = 0;

    nncc_mean_factor(w, w->rows * w->cols);
    if (w->count == 1) {
        nncc_wide_pixel(p, w->x, y);
        return;
    }
    if (n < 4) {
        nncc_avg_few(p, w, y);
        return;
    }
    if (n < 8) {
        nncc_avg_eight(p, w, 0, n - 4, y);
        return;
    }
    for (; c < n; c += 8) {
        nncc_avg_eight(p, w, c < n - 8 ? c : n - 8, 4, y); /* the last ones over some of those before */
    }
}

#else

#if NNCC_MEAN_FACTOR
/* The upper word of a product, of products of halves. */
static inline uint32_t nncc_upper_word(uint32_t a, uint32_t b)
{
    const uint32_t ah = a >> 16, al = a & 0xffffu, bh = b >> 16, bl = b & 0xffffu;
    const uint32_t s = ah * bl + ((al * bl) >> 16);

    return ah * bh + (s >> 16) + ((al * bh + (s & 0xffffu)) >> 16);
}
#endif

static inline int16_t nncc_mean(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32_t sum)
{
#if NNCC_MEAN_FACTOR
    const int32_t sign = sum >> 31;
    const uint32_t m = ((uint32_t)sum ^ (uint32_t)sign) - (uint32_t)sign + ((uint32_t)w->count >> 1);
    const int32_t v = ((int32_t)(nncc_upper_word(m, w->factor) >> w->shift) ^ sign) - sign;
#else
    const int32_t v = (sum > 0 ? sum + w->count / 2 : sum - w->count / 2) / w->count;
#endif

    return (int16_t)NNCC_WIDE_LIMIT(v, p->act_min, p->act_max);
}

#if NNCC_WIDE_WORDS
/* The channels c and c + 1, and those d behind them. */
static inline void nncc_avg_four(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32_t c, int32_t d,
                                 int16_t *y)
{
    int32_t sum[4] = {0, 0, 0, 0};

    NNCC_AVG_SUMS(const uint32_t u = nncc_load_word(in); const uint32_t v = nncc_load_word(in + d);
                  sum[0] += nncc_low_half(u); sum[1] += nncc_high_half(u); sum[2] += nncc_low_half(v);
                  sum[3] += nncc_high_half(v));
    y[c] = nncc_mean(p, w, sum[0]);
    y[c + 1] = nncc_mean(p, w, sum[1]);
    y[c + d] = nncc_mean(p, w, sum[2]);
    y[c + d + 1] = nncc_mean(p, w, sum[3]);
}
#endif

static inline int16_t nncc_avg_one(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32_t c)
{
    int32_t sum = 0;

    NNCC_AVG_SUMS(sum += *in);
    return nncc_mean(p, w, sum);
}

static void nncc_avg_window(const nncc_pool_s16_params *p, nncc_wide_part *w, int16_t *y)
{
    const int32_t n = p->channels;
    int32_t c = 0;

    nncc_mean_factor(w, w->rows * w->cols);
    if (w->count == 1) {
        nncc_wide_pixel(p, w->x, y);
        return;
    }
#if NNCC_WIDE_WORDS
    if (n > 1) {
        const int32_t d = n < 4 ? n - 2 : 2;

        for (; c + 4 < n; c += 4) {
            nncc_avg_four(p, w, c, 2, y);
        }
        nncc_avg_four(p, w, n < 4 ? 0 : n - 4, d, y); /* over some of those before */
        return;
    }
#endif
    for (; c < n; c++) {
        y[c] = nncc_avg_one(p, w, c);
    }
}

#endif

void nncc_avg_pool_s16(const nncc_pool_s16_params *p, const int16_t *x, int16_t *y)
{
    NNCC_WIDE_POOL(p, x, y, nncc_avg_window);
}
