#include "nncc_helium_core.h"

#if NNCC_HELIUM_MVE

#include <arm_mve.h>

/* v * mult * 2^(shift - 31), rounded twice, ties of the shift to the right away from zero. */
static inline int32x4_t nncc_scaled4(int32x4_t v, int32_t mult, int32_t shift)
{
    const int32_t up = shift > 0 ? shift : 0, down = shift < 0 ? shift : 0;

    v = vqrdmulhq_n_s32(vshlq_r_s32(v, up), mult);
    v = vaddq_s32(v, vshrq_n_s32(vandq_s32(v, vdupq_n_s32(down)), 31));
    return vrshlq_n_s32(v, down);
}

void nncc_helium_add_s16(const nncc_helium_add16_params *p, const int16_t *x, const int16_t *y, int16_t *out)
{
    const int32x4_t low = vdupq_n_s32(p->act_min), high = vdupq_n_s32(p->act_max);
    int32_t i;

    for (i = 0; i < p->n; i += 4) {
        const mve_pred16_t left = vctp32q((uint32_t)(p->n - i));
        int32x4_t a = vshlq_r_s32(vldrhq_z_s32(x + i, left), p->left_shift);
        int32x4_t b = vshlq_r_s32(vldrhq_z_s32(y + i, left), p->left_shift);

        a = vaddq_s32(nncc_scaled4(a, p->x_mult, p->x_shift), nncc_scaled4(b, p->y_mult, p->y_shift));
        a = vminq_s32(vmaxq_s32(nncc_scaled4(a, p->mult, p->shift), low), high);
        vstrhq_p_s32(out + i, a, left);
    }
}

#else

void nncc_helium_add_s16(const nncc_helium_add16_params *p, const int16_t *x, const int16_t *y, int16_t *out)
{
    int32_t i;

    for (i = 0; i < p->n; i++) {
        const int32_t a = (int32_t)((uint32_t)x[i] << p->left_shift), b = (int32_t)((uint32_t)y[i] << p->left_shift);
        const uint32_t sum = (uint32_t)nncc_rq(a, p->x_mult, p->x_shift) + (uint32_t)nncc_rq(b, p->y_mult, p->y_shift);
        int32_t v = nncc_rq((int32_t)sum, p->mult, p->shift);

        v = v < p->act_min ? p->act_min : v;
        out[i] = (int16_t)(v > p->act_max ? p->act_max : v);
    }
}

#endif
