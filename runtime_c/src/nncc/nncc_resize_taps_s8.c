/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_resize_taps_s8: rows of the input become one row of sums, sums of its columns results, two taps at a time. A
 * multiplication gives the result or one less, the least sum of the next result tells which.
 */
#include "nncc_copy.h"
#include "nncc_mve.h"
#include "nncc_s8.h"

#if NNCC_MVE

#define NNCC_TAPS_LINE(what, row) \
    do { \
        const int32x4_t old = vandq_s32(NNCC_GETW##what(row), vdupq_n_s32(keep)); \
        const int32x4_t s = vmlaq_n_s32(vaddq_n_s32(old, bias), NNCC_GET4##what(a), wa); \
\
        NNCC_PUTW##what(row, vmlaq_n_s32(s, NNCC_GET4##what(b), wb)); \
        a += 4; \
        b += 4; \
        row += 4; \
    } while (0)

#define NNCC_TAPS_PIXEL(what, to) \
    do { \
        int32x4_t s = vdupq_n_s32(0), at; \
\
        for (int32_t t = 0; t < taps; t += 2) { \
            s = vmlaq_n_s32(s, NNCC_GETW##what(row + index[t]), weight[t]); \
            s = vmlaq_n_s32(s, NNCC_GETW##what(row + index[t + 1]), weight[t + 1]); \
        } \
        at = vshlq_r_s32(vaddq_n_s32(vmulhq_s32(s, vdupq_n_s32(mult)), add), -shift); \
        at = nncc_limit4(at, vdupq_n_s32(0), vdupq_n_s32(255)); \
        s = vshrq_n_s32(vsubq_s32(s, vldrwq_gather_shifted_offset_s32(least, vreinterpretq_u32_s32(at))), 31); \
        NNCC_PUT4##what(to, vsubq_n_s32(vaddq_s32(at, s), 127)); \
        row += 4; \
        to += 4; \
    } while (0)

#endif

/* row = (row & keep) + bias + a * wa + b * wb */
static NNCC_APART void nncc_resize_line(const int8_t *a, const int8_t *b, int32_t wa, int32_t wb, int32_t bias,
                                        int32_t keep, int32_t n, int32_t *row)
{
#if NNCC_MVE
    NNCC_MVE_LOOP(n, 4, vctp32q, NNCC_TAPS_LINE, row);
#else
    for (; n > 0; n--) {
        *row = (*row & keep) + bias + *a++ * wa + *b++ * wb;
        row++;
    }
#endif
}

/* A row of results. */
static NNCC_APART void nncc_resize_columns(const nncc_resize_taps_s8_params *p, const int32_t *pixels,
                                           const int32_t *index, const int16_t *weight, const int32_t *least, int8_t *y)
{
    const int32_t taps = p->taps_w, mult = p->mult, add = p->add, shift = p->shift;

    for (int32_t ox = p->out_w; ox > 0; ox--) {
        const int32_t *row = pixels;
        int8_t *to = y;
        int32_t n = p->channels;

        if (index[0] < 0) {
            nncc_set(y, (uint8_t)p->outside, n);
        } else {
#if NNCC_MVE
            NNCC_MVE_LOOP(n, 4, vctp32q, NNCC_TAPS_PIXEL, to);
#else
            for (; n > 0; n--) {
                int32_t s = 0, at;

                for (int32_t t = 0; t < taps; t += 2) {
                    s += row[index[t]] * weight[t] + row[index[t + 1]] * weight[t + 1];
                }
                at = ((int32_t)((int64_t)s * mult >> 32) + add) >> shift;
                at = at < 0 ? 0 : (at > 255 ? 255 : at);
                *to++ = (int8_t)(at - 127 + ((s - least[at]) >> 31));
                row++;
            }
#endif
        }
        y += p->channels;
        index += taps;
        weight += taps;
    }
}

void nncc_resize_taps_s8(const nncc_resize_taps_s8_params *p, const int8_t *x, const int32_t *index_h,
                         const int16_t *weight_h, const int32_t *index_w, const int16_t *weight_w, const int32_t *least,
                         int32_t *row, int8_t *y)
{
    const int32_t in = p->in_w * p->channels, out = p->out_w * p->channels;

    for (int32_t n = p->batch; n > 0; n--) {
        const int32_t *i = index_h;
        const int16_t *w = weight_h;

        for (int32_t oy = p->out_h; oy > 0; oy--) {
            if (i[0] < 0) {
                nncc_set(y, (uint8_t)p->outside, out);
            } else {
                for (int32_t t = 0; t < p->taps_h; t += 2) {
                    nncc_resize_line(x + i[t] * in, x + i[t + 1] * in, w[t], w[t + 1], -p->in_zero * (w[t] + w[t + 1]),
                                     -(t > 0), in, row);
                }
                nncc_resize_columns(p, row, index_w, weight_w, least, y);
            }
            i += p->taps_h;
            w += p->taps_h;
            y += out;
        }
        x += p->in_h * in;
    }
}
