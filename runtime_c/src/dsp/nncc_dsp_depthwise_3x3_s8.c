/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_3x3_s8: two rows of inputs become words of both, 256 times as large, four channels at a time,
 * once; the kernels of output rows take them from there. Padding is written into the words. A column of two rows and
 * four channels costs 15 instructions (2 loads, 4 stores): 0.21 per MAC with stride 1, 0.83 with stride 2.
 */
#include "nncc_dsp_core.h"

/* A column of two rows: a is the upper one, b the lower one; bytes of odd channels are where they belong. */
#define NNCC_PACK \
    "ldr %[a], [%[u]]\n ldr %[b], [%[l]]\n add %[u], %[u], %[us]\n add %[l], %[l], %[ls]\n" \
    "pkhbt %[c], %[a], %[b], lsl #16\n pkhtb %[b], %[b], %[a], asr #16\n" \
    "and %[a], %[m], %[b], lsl #8\n str %[a], [%[to], #16]\n and %[b], %[b], %[m]\n str %[b], [%[to], #24]\n" \
    "and %[a], %[c], %[m]\n str %[a], [%[to], #8]\n and %[c], %[m], %[c], lsl #8\n str %[c], [%[to]], #32\n"

/* Words of the columns [0, count) of two rows: four channels, 8 words a column. The steps may be 0. */
static void interleave(const int8_t *upper, int32_t upper_step, const int8_t *lower, int32_t lower_step, int32_t count,
                       int32_t *to)
{
    if (count <= 0) {
        return;
    }
#if NNCC_DSP_ASM
    int32_t a, b, c;

    __asm volatile(
        "lsls %[c], %[n], #31\n bne 2f\n"
        "1:\n" NNCC_PACK "2:\n" NNCC_PACK "subs %[n], %[n], #2\n bgt 1b\n"
        : [u] "+r"(upper), [l] "+r"(lower), [to] "+r"(to), [n] "+r"(count), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
        : [us] "r"(upper_step), [ls] "r"(lower_step), [m] "r"(0xff00ff00u)
        : "memory", "cc");
#elif NNCC_DSP_ACLE
    for (; count > 0; count--) {
        const int32_t a = nncc_dsp_load4(upper), b = nncc_dsp_load4(lower);
        const uint32_t low = (uint32_t)nncc_dsp_lows(a, b), high = (uint32_t)nncc_dsp_highs(a, b);

        to[0] = (int32_t)((low << 8) & 0xff00ff00u);
        to[2] = (int32_t)(low & 0xff00ff00u);
        to[4] = (int32_t)((high << 8) & 0xff00ff00u);
        to[6] = (int32_t)(high & 0xff00ff00u);
        upper += upper_step;
        lower += lower_step;
        to += 8;
    }
#else
    for (; count > 0; count--) {
        for (int32_t c = 0; c < 4; c++) {
            to[2 * c] = nncc_dsp_pair(256 * upper[c], 256 * lower[c]);
        }
        upper += upper_step;
        lower += lower_step;
        to += 8;
    }
#endif
}

/* Padding in the columns [from, to). */
static void pad_columns(int32_t *x, int32_t from, int32_t to, int32_t word)
{
    for (; from < to; from++) {
        for (int32_t c = 0; c < 4; c++) {
            x[8 * from + 2 * c] = word;
        }
    }
}

/* A row of the image, or padding that repeats itself. */
static const int8_t *row_of(const nncc_dsp_depthwise_params *p, const int8_t *x, int32_t row, const int8_t *pad,
                            int32_t *step)
{
    if (row < 0 || row >= p->in_h) {
        *step = 0;
        return pad;
    }
    *step = p->channels;
    return x + row * p->in_w * p->channels;
}

/* The word of rows row and row + 1 for all columns of a group of channels; real columns in front of end. */
static void pair_rows(const nncc_dsp_depthwise_params *p, const int8_t *x, int32_t row, int32_t end, const int8_t *pad,
                      int32_t *to)
{
    int32_t us, ls;
    const int8_t *const upper = row_of(p, x, row, pad, &us), *const lower = row_of(p, x, row + 1, pad, &ls);

    interleave(upper, us, lower, ls, end - p->pad_w, to + 8 * p->pad_w);
}

void nncc_dsp_depthwise_3x3_s8(const nncc_dsp_depthwise_params *p, nncc_dsp_depthwise_3x3_row_fn *even,
                               nncc_dsp_depthwise_3x3_row_fn *odd, const int8_t *x, const int32_t *w, int8_t *y,
                               int32_t *scratch)
{
    const int32_t columns = p->stride_w * (p->out_w - 1) + 3;
    const int32_t end = p->pad_w + p->in_w < columns ? p->pad_w + p->in_w : columns;
    const int32_t lines = 3 - p->stride_h; /* output rows of two pairs of input rows */
    const int32_t pad_word = nncc_dsp_pair(256 * p->pad, 256 * p->pad);
    int8_t pad[4];

    memset(pad, p->pad, sizeof pad);
    for (int32_t slot = 0; slot < 2; slot++) {
        pad_columns(scratch + slot, 0, p->pad_w < columns ? p->pad_w : columns, pad_word);
        pad_columns(scratch + slot, end, columns, pad_word);
    }
    for (int32_t n = 0; n < p->batches; n++) {
        const int32_t *weights = w;

        for (int32_t c = 0; c < p->channels; c += 4) {
            const int32_t from = nncc_dsp_group(c, p->channels);
            nncc_dsp_depthwise_3x3_row_params r = {p->out_w, p->channels, p->out_w * p->channels};
            nncc_dsp_depthwise_3x3_row_fn *rows = even, *others = odd;
            int32_t row = -p->pad_h, new_slot = 1;
            int8_t *out = y + from;

            pair_rows(p, x + from, row, end, pad, scratch);
            for (int32_t oy = 0; oy < p->out_h; oy += lines) {
                nncc_dsp_depthwise_3x3_row_fn *const now = rows;

                row += 2;
                pair_rows(p, x + from, row, end, pad, scratch + new_slot);
                if (oy + 1 == p->out_h) {
                    r.down = 0;
                }
                now(&r, scratch, weights, out);
                rows = others;
                others = now;
                new_slot = 1 - new_slot;
                out += lines * p->out_w * p->channels;
            }
            weights += p->group_words;
        }
        if (p->cap != 0) {
            nncc_dsp_clamp_s8(p->out_h * p->out_w * p->channels, p->low, p->cap, y);
        }
        x += p->in_h * p->in_w * p->channels;
        y += p->out_h * p->out_w * p->channels;
    }
}
