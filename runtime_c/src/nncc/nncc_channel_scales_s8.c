/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_channel_scales_s8: channel by channel, whose line stays in registers, also where its elements lie apart: an
 * element takes 9 to 11 instructions with the DSP extension; with Helium four channels are 12, four neighbours as many.
 */
#include "nncc_pair.h"

#if NNCC_MVE
#include <arm_mve.h>
#endif

/* What a sum t is rounded from: it is negative exactly where the result is below zero. */
static inline int32_t nncc_scales_sum(int32_t t, int32_t below, int32_t end)
{
    return t + (below & (t >> 31)) + end;
}

/* n elements of a channel that lie step apart; line is its mult, bias, below and end. */
static void nncc_scales_line(const nncc_channel_scales_s8_params *p, const int8_t *x, int32_t step, int32_t n,
                             const int32_t *line, int8_t *y)
{
    const int32_t mult = line[0], bias = line[1], below = line[2], end = line[3];
    const int32_t shift = p->shift, lo = p->act_min, hi = p->act_max;

    if (NNCC_PAIR_SATURATED(lo, hi)) {
        NNCC_PAIR_APART(step, nncc_scales_sum(u * mult + bias, below, end) >> shift, nncc_sat8(r));
    } else {
        NNCC_PAIR_APART(step, nncc_scales_sum(u * mult + bias, below, end) >> shift, NNCC_PAIR_LIMIT(r, lo, hi));
    }
}

#if NNCC_MVE

/* The results of the sums t. */
#define NNCC_SCALES_FOUR(t, below, end) \
    vminq_s32(vmaxq_s32(vshlq_r_s32(vaddq_s32(vaddq_s32(t, vandq_s32(below, vshrq_n_s32(t, 31))), end), down), lo), hi)

/* Four channels of all pixels. */
static void nncc_scales_pixels(const nncc_channel_scales_s8_params *p, const int8_t *x, const int32_t *line, int8_t *y)
{
    const uint32x4_t at = vidupq_n_u32(0, 4);
    const int32x4_t mult = vldrwq_gather_shifted_offset_s32(line, at);
    const int32x4_t bias = vldrwq_gather_shifted_offset_s32(line + 1, at);
    const int32x4_t below = vldrwq_gather_shifted_offset_s32(line + 2, at);
    const int32x4_t end = vldrwq_gather_shifted_offset_s32(line + 3, at);
    const int32x4_t lo = vdupq_n_s32(p->act_min), hi = vdupq_n_s32(p->act_max);
    const int32_t down = -p->shift, step = p->channels;

    for (int32_t k = p->outer; k > 0; k--) {
        const int32x4_t t = vaddq_s32(vmulq_s32(vldrbq_s32(x), mult), bias);

        vstrbq_s32(y, NNCC_SCALES_FOUR(t, below, end));
        x += step;
        y += step;
    }
}

/* Neighbours of a channel. */
static void nncc_scales_row(const nncc_channel_scales_s8_params *p, const int8_t *x, const int32_t *line, int8_t *y)
{
    const int32x4_t bias = vdupq_n_s32(line[1]), below = vdupq_n_s32(line[2]), end = vdupq_n_s32(line[3]);
    const int32x4_t lo = vdupq_n_s32(p->act_min), hi = vdupq_n_s32(p->act_max);
    const int32_t mult = line[0], down = -p->shift;
    int32_t n = p->inner;

    for (; n >= 4; n -= 4) {
        const int32x4_t t = vmlaq_n_s32(bias, vldrbq_s32(x), mult);

        vstrbq_s32(y, NNCC_SCALES_FOUR(t, below, end));
        x += 4;
        y += 4;
    }
    if (n > 0) {
        const mve_pred16_t rest = vctp32q((uint32_t)n);
        const int32x4_t t = vmlaq_n_s32(bias, vldrbq_z_s32(x, rest), mult);

        vstrbq_p_s32(y, NNCC_SCALES_FOUR(t, below, end), rest);
    }
}

#endif

void nncc_channel_scales_s8(const nncc_channel_scales_s8_params *p, const int8_t *x, const int32_t *lines, int8_t *y)
{
    const int32_t channels = p->channels, inner = p->inner;

    if (inner == 1) {
        int32_t c = 0;

#if NNCC_MVE
        for (; c + 4 <= channels; c += 4) {
            nncc_scales_pixels(p, x + c, lines + 4 * c, y + c);
        }
#endif
        for (; c < channels; c++) {
            nncc_scales_line(p, x + c, channels, p->outer, lines + 4 * c, y + c);
        }
        return;
    }
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t c = 0; c < channels; c++) {
#if NNCC_MVE
            nncc_scales_row(p, x, lines + 4 * c, y);
#else
            nncc_scales_line(p, x, 1, inner, lines + 4 * c, y);
#endif
            x += inner;
            y += inner;
        }
    }
}
