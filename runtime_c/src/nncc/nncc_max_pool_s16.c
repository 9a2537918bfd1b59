/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_max_pool_s16: eight channels an instruction and a load with Helium, two in a load and two with SSUB16 and SEL,
 * four a turn elsewhere. */
#include "nncc_simd32.h"
#include "nncc_wide_pool.h"

#if NNCC_WIDE_MVE

static inline int16x8_t nncc_max_eight(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32_t c,
                                       mve_pred16_t some)
{
    const int16_t *row = w->x + c;
    int16x8_t top = vdupq_n_s16(INT16_MIN);

    for (int32_t r = w->rows; r > 0; r--) {
        const int16_t *in = row;

        for (int32_t k = w->cols; k > 0; k--) {
            top = vmaxq_s16(top, vldrhq_z_s16(in, some));
            in += p->channels;
        }
        row += w->pitch;
    }
    return top;
}

#else

/* The channel c. */
static inline int16_t nncc_max_one(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32_t c)
{
    const int16_t *row = w->x + c;
    int32_t top = p->act_min;

    for (int32_t r = w->rows; r > 0; r--) {
        const int16_t *in = row;

        for (int32_t k = w->cols; k > 0; k--) {
            top = *in > top ? *in : top;
            in += p->channels;
        }
        row += w->pitch;
    }
    return (int16_t)(top > p->act_max ? p->act_max : top);
}

#if NNCC_WIDE_WORDS && NNCC_SIMD32

/* Four channels from c on, two and two; the same ones or some twice where there are fewer. */
static inline void nncc_max_four(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32_t c, int16_t *y)
{
    const uint32_t lo = nncc_pack_low((uint32_t)p->act_min, (uint32_t)p->act_min);
    const uint32_t hi = nncc_pack_low((uint32_t)p->act_max, (uint32_t)p->act_max);
    const int32_t d = p->channels < 4 ? p->channels - 2 : 2;
    const int16_t *row = w->x + c;
    uint32_t s = lo, t = lo;

    for (int32_t r = w->rows; r > 0; r--) {
        const int16_t *in = row;

        for (int32_t k = w->cols; k > 0; k--) {
            s = nncc_max16(s, nncc_load_word(in));
            t = nncc_max16(t, nncc_load_word(in + d));
            in += p->channels;
        }
        row += w->pitch;
    }
    nncc_store_word(y + c, nncc_min16(s, hi));
    nncc_store_word(y + c + d, nncc_min16(t, hi));
}

#define NNCC_MAX_LEAST 2

#elif NNCC_WIDE_WORDS

#define NNCC_MAX_NEXT(i) top[i] = in[i] > top[i] ? in[i] : top[i]
#define NNCC_MAX_PUT(i) y[c + (i)] = (int16_t)(top[i] > p->act_max ? p->act_max : top[i])

/* Four channels from c on. */
static inline void nncc_max_four(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32_t c, int16_t *y)
{
    const int32_t lo = p->act_min;
    const int16_t *row = w->x + c;
    int32_t top[4] = {lo, lo, lo, lo};

    for (int32_t r = w->rows; r > 0; r--) {
        const int16_t *in = row;

        for (int32_t k = w->cols; k > 0; k--) {
            NNCC_MAX_NEXT(0);
            NNCC_MAX_NEXT(1);
            NNCC_MAX_NEXT(2);
            NNCC_MAX_NEXT(3);
            in += p->channels;
        }
        row += w->pitch;
    }
    NNCC_MAX_PUT(0);
    NNCC_MAX_PUT(1);
    NNCC_MAX_PUT(2);
    NNCC_MAX_PUT(3);
}

#define NNCC_MAX_LEAST 4

#endif

#endif

static void nncc_max_window(const nncc_pool_s16_params *p, nncc_wide_part *w, int16_t *y)
{
#if NNCC_WIDE_MVE
    const int32_t lo = p->act_min, hi = p->act_max;

    for (int32_t c = 0; c < p->channels; c += 8) {
        const mve_pred16_t some = vctp16q((uint32_t)(p->channels - c));

        vstrhq_p_s16(y + c, nncc_wide_clamp8(nncc_max_eight(p, w, c, some), lo, hi), some);
    }
#else
    int32_t c = 0;

#ifdef NNCC_MAX_LEAST
    if (w->rows * w->cols == 1) {
        nncc_wide_pixel(p, w->x, y);
        return;
    }
    if (p->channels >= NNCC_MAX_LEAST) {
        for (; c < p->channels - 4; c += 4) {
            nncc_max_four(p, w, c, y);
        }
        nncc_max_four(p, w, p->channels < 4 ? 0 : p->channels - 4, y); /* over some of those before */
        return;
    }
#endif
    for (; c < p->channels; c++) {
        y[c] = nncc_max_one(p, w, c);
    }
#endif
}

void nncc_max_pool_s16(const nncc_pool_s16_params *p, const int16_t *x, int16_t *y)
{
    NNCC_WIDE_POOL(p, x, y, nncc_max_window);
}
