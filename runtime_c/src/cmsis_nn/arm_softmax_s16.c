/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_softmax.h"
#include "nncc_isa.h"

#if NNCC_MVE && !defined(CMSIS_NN_USE_SINGLE_ROUNDING)
#define SOFTMAX_MVE 1
#include <arm_mve.h>
#else
#define SOFTMAX_MVE 0
#endif

/* The value at v of straight lines between 513 points, 128 inputs apart. */
static inline int16_t softmax_interpolate(const int16_t *table, int32_t v)
{
    const int16_t *p = table + 256 + (v >> 7);
    const int16_t slope = (int16_t)(p[1] - p[0]);
    const int16_t delta = (int16_t)((slope * (v & 0x7f) + 64) >> 7);

    return (int16_t)(p[0] + delta);
}

/* Exponentials of differences from the largest value: their scale, and lines between 513 points. */
typedef struct
{
    const int16_t *table;
    int32_t mult, shift;
} softmax_curve;

#if SOFTMAX_MVE

static inline int32_t softmax_top(const int16_t *x, int32_t size)
{
    int16_t top = NN_Q15_MIN;

    for (; size >= 8; size -= 8) {
        top = vmaxvq_s16(top, vldrhq_s16(x));
        x += 8;
    }
    if (size > 0) {
        const mve_pred16_t some = vctp16q((uint32_t)size);

        top = vmaxvq_p_s16(top, vldrhq_z_s16(x, some), some);
    }
    return top;
}

/* Four exponentials: what wraps to a positive value counts as 0, and no difference is positive otherwise, so one
 * subtraction rounds ties away from zero. */
static inline int32x4_t softmax_exp4(int32x4_t x, int32_t top, const softmax_curve *f)
{
    const int32_t left = nncc_max(f->shift, 0), right = nncc_min(f->shift, 0);
    int32x4_t v = vqrdmulhq_n_s32(vshlq_r_s32(vsubq_n_s32(x, top), left), f->mult);

    v = vminq_s32(vrshlq_n_s32(vaddq_n_s32(v, right >> 31), right), vdupq_n_s32(0));
    v = vmaxq_s32(vaddq_n_s32(v, NN_Q15_MAX - NN_Q15_MIN), vdupq_n_s32(0));
    uint32x4_t at = vreinterpretq_u32_s32(vshrq_n_s32(v, 7));
    int32x4_t p = vldrhq_gather_shifted_offset_s32(f->table, at);
    v = vmulq_s32(vandq_s32(v, vdupq_n_s32(0x7f)), vsubq_s32(vldrhq_gather_shifted_offset_s32(f->table + 1, at), p));
    return vaddq_s32(p, vrshrq_n_s32(v, 7));
}

/* Exponentials of a row, and their sum. */
static uint32_t softmax_terms(const int16_t *x, int32_t size, const softmax_curve *f, int16_t *y)
{
    const int32_t top = softmax_top(x, size);
    int32_t sum = 0;

    for (; size >= 4; size -= 4) {
        const int32x4_t e = softmax_exp4(vldrhq_s32(x), top, f);

        vstrhq_s32(y, e);
        sum = vaddvaq_s32(sum, e);
        x += 4;
        y += 4;
    }
    if (size > 0) {
        const mve_pred16_t some = vctp32q((uint32_t)size);
        const int32x4_t e = softmax_exp4(vldrhq_z_s32(x, some), top, f);

        vstrhq_p_s32(y, e, some);
        sum = vaddvaq_p_s32(sum, e, some);
    }
    return (uint32_t)sum;
}

/* y * scale / 2^(down + 1), rounded. */
static void softmax_shares(int16_t *y, int32_t size, int32_t scale, int32_t down)
{
    for (; size >= 4; size -= 4) {
        const int32x4_t v = vshlq_r_s32(vmulq_n_s32(vldrhq_s32(y), scale), -down);

        vstrhq_s32(y, vrshrq_n_s32(v, 1));
        y += 4;
    }
    if (size > 0) {
        const mve_pred16_t some = vctp32q((uint32_t)size);
        const int32x4_t v = vshlq_r_s32(vmulq_n_s32(vldrhq_z_s32(y, some), scale), -down);

        vstrhq_p_s32(y, vrshrq_n_s32(v, 1), some);
    }
}

#else

/* Exponentials of a row, and their sum. */
static uint32_t softmax_terms(const int16_t *x, int32_t size, const softmax_curve *f, int16_t *y)
{
    int32_t top = x[0], i;
    uint32_t sum = 0;

    for (i = 1; i < size; i++) {
        top = nncc_max(top, x[i]);
    }
    for (i = 0; i < size; i++) {
        /* What wraps to a positive value counts as 0: the sum neither overflows nor exceeds int16. */
        const int32_t v = nncc_requantize(x[i] - top, f->mult, f->shift);
        const int32_t d = (v & (v >> 31)) + NN_Q15_MAX;
        const int32_t e = softmax_interpolate(f->table, nncc_max(d, NN_Q15_MIN));

        y[i] = (int16_t)e;
        sum += (uint32_t)e;
    }
    return sum;
}

/* y * scale / 2^(down + 1), rounded. */
static void softmax_shares(int16_t *y, int32_t size, int32_t scale, int32_t down)
{
    for (int32_t i = 0; i < size; i++) {
        y[i] = (int16_t)(((y[i] * scale >> down) + 1) >> 1);
    }
}

#endif

arm_cmsis_nn_status arm_softmax_s16(const int16_t *input, const int32_t num_rows, const int32_t row_size,
                                    const int32_t mult, const int32_t shift,
                                    const cmsis_nn_softmax_lut_s16 *softmax_params, int16_t *output)
{
    const softmax_curve form = {softmax_params->exp_lut, mult, shift};

    if (softmax_params->exp_lut == NULL || softmax_params->one_by_one_lut == NULL) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (int32_t row = 0; row < num_rows; row++) {
        const uint32_t sum = softmax_terms(input, row_size, &form, output);
        const int32_t headroom = nncc_leading_zeros(sum);

        if (headroom > 30) /* the table's exp(0) is not even 2: no table of this function */
        {
            return ARM_CMSIS_NN_ARG_ERROR;
        }
        /* sum scaled to [1, 2) with 16 bits behind the point, less 1.5 */
        softmax_shares(output, row_size,
                       softmax_interpolate(softmax_params->one_by_one_lut,
                                           (int16_t)((int32_t)(((sum << (headroom - 1)) + (1u << 13)) >> 14) - 98304)),
                       30 - headroom);
        input += row_size;
        output += row_size;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
