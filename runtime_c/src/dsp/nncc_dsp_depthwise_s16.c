/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_dsp_core.h"

/* The taps of a window inside the image, and the way from one to the next, in bytes. */
typedef struct
{
    const int8_t *x;
    int32_t tap; /* the number of the first one */
    int32_t rows, cols;
    int32_t step, row;
} nncc_taps16;

/* Words of a group of four channels in front of the weights, and behind them. */
#define NNCC_HEAD16 4
#define NNCC_TAIL16 12

#if NNCC_DSP_ASM

/* A tap of four channels: weights are bytes 0 to 3 of a word. */
#define NNCC_TAP16 \
    "ldr %[a], [%[x]]\n ldr %[b], [%[x], #4]\n ldr %[w13], [%[w]], #4\n add %[x], %[x], %[step]\n" \
    "sxtb16 %[w02], %[w13]\n sxtb16 %[w13], %[w13], ror #8\n" \
    "smlabb %[s0], %[a], %[w02], %[s0]\n smlatb %[s1], %[a], %[w13], %[s1]\n" \
    "smlabt %[s2], %[b], %[w02], %[s2]\n smlatt %[s3], %[b], %[w13], %[s3]\n"
#define NNCC_TAPS16(code) \
    do { \
        int32_t a, b, w02, w13; \
\
        __asm volatile(code \
                       : [x] "+r"(x), [w] "+r"(w), [n] "+r"(n), [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2), \
                         [s3] "+r"(s3), [a] "=&r"(a), [b] "=&r"(b), [w02] "=&r"(w02), [w13] "=&r"(w13) \
                       : [step] "r"(step) \
                       : "cc", "memory"); \
    } while (0)

#endif

/* A row of n taps of four channels. */
static inline void nncc_row16(const int8_t *x, int32_t step, const int32_t *w, int32_t n, int32_t sum[4])
{
#if NNCC_DSP_ASM
    int32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];

    if (n == 3) {
        NNCC_TAPS16(NNCC_TAP16 NNCC_TAP16 NNCC_TAP16);
    } else {
        NNCC_TAPS16("1:\n" NNCC_TAP16 "subs %[n], %[n], #1\n bne 1b\n");
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
#else
    const int8_t *v = (const int8_t *)w;

    for (; n > 0; n--) {
        int16_t a[4];

        memcpy(a, x, sizeof a);
        sum[0] = (int32_t)((uint32_t)sum[0] + (uint32_t)(a[0] * v[0]));
        sum[1] = (int32_t)((uint32_t)sum[1] + (uint32_t)(a[1] * v[1]));
        sum[2] = (int32_t)((uint32_t)sum[2] + (uint32_t)(a[2] * v[2]));
        sum[3] = (int32_t)((uint32_t)sum[3] + (uint32_t)(a[3] * v[3]));
        x += step;
        v += 4;
    }
#endif
}

/* All channels of a pixel. */
static void nncc_pixel16(const nncc_dsp_depthwise16_params *p, const nncc_taps16 *t, const int32_t *w, int8_t *y)
{
    const int32_t taps = p->kernel_h * p->kernel_w;

    for (int32_t i = 0; i < p->channels; i += 4) {
        const int32_t at = nncc_dsp_group(i, p->channels);
        const int32_t *from = w + NNCC_HEAD16 + t->tap;
        const int32_t *const mcs = w + NNCC_HEAD16 + taps;
        const int8_t *x = t->x + 2 * at;
        int32_t sum[4] = {w[0], w[1], w[2], w[3]};
        int16_t out[4];

        for (int32_t r = t->rows; r > 0; r--) {
            nncc_row16(x, t->step, from, t->cols, sum);
            x += t->row;
            from += p->kernel_w;
        }
        for (int32_t c = 0; c < 4; c++) {
            const int32_t *const m = mcs + 3 * c;
            int32_t v = ((int32_t)(((int64_t)sum[c] * m[0]) >> 32) + m[1]) >> m[2];

            v = v < p->act_min ? p->act_min : v;
            out[c] = (int16_t)(v > p->act_max ? p->act_max : v);
        }
        memcpy(y + 2 * at, out, sizeof out);
        w += NNCC_HEAD16 + taps + NNCC_TAIL16;
    }
}

/* The taps [*first, *last) of one dimension that meet the image; none: *first >= *last. */
static void nncc_meet16(int32_t start, int32_t taps, int32_t dilation, int32_t size, int32_t *first, int32_t *last)
{
    *first = start < 0 ? (dilation - 1 - start) / dilation : 0;
    *last = start + (taps - 1) * dilation < size ? taps : (size - start + dilation - 1) / dilation;
}

void nncc_dsp_depthwise_s16(const nncc_dsp_depthwise16_params *p, const int8_t *x, const int32_t *w, int8_t *y)
{
    const int32_t pixel = 2 * p->channels, row = p->in_w * pixel;
    nncc_taps16 t = {NULL, 0, 0, 0, p->dil_w * pixel, p->dil_h * row};

    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                const int32_t top = oy * p->stride_h - p->pad_h, left = ox * p->stride_w - p->pad_w;
                int32_t y0, y1, x0, x1;

                nncc_meet16(top, p->kernel_h, p->dil_h, p->in_h, &y0, &y1);
                nncc_meet16(left, p->kernel_w, p->dil_w, p->in_w, &x0, &x1);
                t.rows = x0 < x1 ? y1 - y0 : 0;
                t.cols = x1 - x0;
                if (t.rows > 0) {
                    t.tap = y0 * p->kernel_w + x0;
                    t.x = x + (top + y0 * p->dil_h) * row + (left + x0 * p->dil_w) * pixel;
                } else {
                    t.tap = 0;
                    t.x = x;
                }
                nncc_pixel16(p, &t, w, y);
                y += pixel;
            }
        }
        x += p->in_h * row;
    }
}
