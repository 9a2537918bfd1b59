/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_max_pool_s16: eight channels an instruction and a load with Helium, two in a load and two with SSUB16 and SEL.
 */
#include "nncc_wide_pool.h"

#if NNCC_SIMD32 && !NNCC_ASM
#include <arm_acle.h>
#endif

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

#if NNCC_WIDE_WORDS && NNCC_SIMD32
#define NNCC_MAX_TWO 1

static inline uint32_t nncc_max_two(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32_t c)
{
    const int16_t *row = w->x + c;
    uint32_t top = 0x80008000u;

    NNCC_ROLLED
    for (int32_t r = w->rows; r > 0; r--) {
        const int16_t *in = row;

        NNCC_ROLLED
        for (int32_t k = w->cols; k > 0; k--) {
#if NNCC_ASM
            uint32_t t;

            __asm volatile("ssub16 %[t], %[u], %[v]\n\tsel %[v], %[u], %[v]"
                           : [t] "=&r"(t), [v] "+r"(top)
                           : [u] "r"(nncc_wide_two(in))
                           : "cc");
#else
            const uint32_t two = nncc_wide_two(in);

            (void)__ssub16((int16x2_t)two, (int16x2_t)top);
            top = (uint32_t)__sel((uint8x4_t)two, (uint8x4_t)top);
#endif
            in += p->channels;
        }
        row += w->pitch;
    }
    return top;
}
#else
#define NNCC_MAX_TWO 0
#endif

static inline int32_t nncc_max_one(const nncc_pool_s16_params *p, const nncc_wide_part *w, int32_t c)
{
    const int16_t *row = w->x + c;
    int32_t top = INT16_MIN;

    NNCC_ROLLED
    for (int32_t r = w->rows; r > 0; r--) {
        const int16_t *in = row;

        NNCC_ROLLED
        for (int32_t k = w->cols; k > 0; k--) {
            top = *in > top ? *in : top;
            in += p->channels;
        }
        row += w->pitch;
    }
    return top;
}

#endif

static void nncc_max_window(const nncc_pool_s16_params *p, nncc_wide_part *w, int16_t *y)
{
    const int32_t lo = p->act_min, hi = p->act_max;
    int32_t c = 0;
#if NNCC_WIDE_MVE

    for (; c < p->channels; c += 8) {
        const mve_pred16_t some = vctp16q((uint32_t)(p->channels - c));

        vstrhq_p_s16(y + c, nncc_wide_clamp8(nncc_max_eight(p, w, c, some), lo, hi), some);
    }
#else
#if NNCC_MAX_TWO
    for (; c + 2 <= p->channels; c += 2) {
        const uint32_t top = nncc_max_two(p, w, c);
        const int32_t even = (int16_t)top, odd = (int32_t)top >> 16;

        y[c] = (int16_t)(even < lo ? lo : (even > hi ? hi : even));
        y[c + 1] = (int16_t)(odd < lo ? lo : (odd > hi ? hi : odd));
    }
#endif
    for (; c < p->channels; c++) {
        const int32_t top = nncc_max_one(p, w, c);

        y[c] = (int16_t)(top < lo ? lo : (top > hi ? hi : top));
    }
#endif
}

void nncc_max_pool_s16(const nncc_pool_s16_params *p, const int16_t *x, int16_t *y)
{
    NNCC_WIDE_POOL(p, x, y, nncc_max_window);
}
