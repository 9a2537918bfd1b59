/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_avg_pool.h"

#define NNCC_LANES 8

#if NNCC_HELIUM_MVE

#include <arm_mve.h>

/* Elements that a 16-bit sum holds. */
#define NNCC_POOL_CHUNK 255

/* Adds n pixels (at most NNCC_POOL_CHUNK) to sum: even channels first. */
static inline void nncc_pool_add(int32_t *sum, const int8_t *x, int32_t pitch, int32_t lanes, int32_t n)
{
    int16x8_t v = vdupq_n_s16(0);

    if (lanes < NNCC_LANES) {
        const mve_pred16_t in = vctp16q((uint32_t)lanes);

        for (; n > 0; n--) {
            v = vaddq_s16(v, vldrbq_z_s16(x, in));
            x += pitch;
        }
    }
    for (; n > 0; n--) {
        v = vaddq_s16(v, vldrbq_s16(x));
        x += pitch;
    }
    vstrwq_s32(sum, vaddq_s32(vldrwq_s32(sum), vmovlbq_s16(v)));
    vstrwq_s32(sum + 4, vaddq_s32(vldrwq_s32(sum + 4), vmovltq_s16(v)));
}

static inline int32x4_t nncc_pool_mean(int32x4_t v, int32_t half, int32_t scale)
{
    const int32x4_t sign = vshrq_n_s32(v, 31);

    v = vqdmulhq_n_s32(vaddq_n_s32(vabsq_s32(v), half), scale);
    return vsubq_s32(veorq_s32(v, sign), sign);
}

/* The first `lanes` averages; scale is 2^31 / count, rounded up. */
static inline void nncc_pool_divide(const nncc_helium_pool_params *p, const int32_t *sum, int32_t count, int32_t scale,
                                    int32_t lanes, int8_t *y)
{
    const int32x4_t even = nncc_pool_mean(vldrwq_s32(sum), count / 2, scale);
    const int32x4_t odd = nncc_pool_mean(vldrwq_s32(sum + 4), count / 2, scale);
    int16x8_t v = vmovntq_s32(vmovnbq_s32(vreinterpretq_s16_s32(even), even), odd);

    v = vminq_s16(vmaxq_s16(v, vdupq_n_s16((int16_t)p->act_min)), vdupq_n_s16((int16_t)p->act_max));
    vstrbq_p_s16(y, v, vctp16q((uint32_t)lanes));
}

static void nncc_pool_window(const nncc_helium_pool_params *p, const nncc_window *w, int8_t *y)
{
    int32_t count = w->runs * w->length;
    int32_t scale = (int32_t)((0x80000000u + (uint32_t)count - 1u) / (uint32_t)count);

    if (count == 1) { /* 2^31 is no int32_t; and (v + 0) * (2^31 - 1) / 2^31 would be less than v */
        for (int32_t c = 0; c < p->channels; c++) {
            int32_t v = w->x[c] > p->act_max ? p->act_max : w->x[c];

            y[c] = (int8_t)(v < p->act_min ? p->act_min : v);
        }
        return;
    }
    for (int32_t c = 0; c < p->channels; c += NNCC_LANES) {
        int32_t lanes = p->channels - c < NNCC_LANES ? p->channels - c : NNCC_LANES;
        int32_t sum[NNCC_LANES] = {0, 0, 0, 0, 0, 0, 0, 0};

        for (int32_t r = 0; r < w->runs; r++) {
            const int8_t *x = w->x + r * w->step + c;

            for (int32_t i = w->length; i > 0; i -= NNCC_POOL_CHUNK) {
                int32_t n = i < NNCC_POOL_CHUNK ? i : NNCC_POOL_CHUNK;

                nncc_pool_add(sum, x, p->in_pitch, lanes, n);
                x += n * p->in_pitch;
            }
        }
        nncc_pool_divide(p, sum, count, scale, lanes, y + c);
    }
}

#endif

void nncc_helium_avg_pool_s8(const nncc_helium_pool_params *p, const int8_t *x, int8_t *y)
{
    nncc_pool(p, x, y);
}
