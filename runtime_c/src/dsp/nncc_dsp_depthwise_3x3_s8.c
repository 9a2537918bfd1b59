/*
 * nncc_dsp_depthwise_3x3_s8: two rows of inputs become words of both, four channels at a time, once; the kernel of two
 * output rows takes them from there. Padding is written into the words. A column of two rows and four channels costs 16
 * instructions (2 loads, 4 stores): 0.22 per MAC.
 */
#include "nncc_dsp_core.h"

/* Words of the columns [0, count) of two rows: four channels, 8 words a column. The steps may be 0. */
static void interleave(const int8_t *upper, int32_t upper_step, const int8_t *lower, int32_t lower_step, int32_t count, int32_t *to)
{
    if (count <= 0) {
        return;
    }
#if NNCC_DSP_ASM
    int32_t a, b, c;

    __asm volatile("1:\n"
                   "ldr %[a], [%[u]]\n ldr %[b], [%[l]]\n add %[u], %[u], %[us]\n add %[l], %[l], %[ls]\n"
                   "pkhbt %[c], %[a], %[b], lsl #16\n pkhtb %[b], %[b], %[a], asr #16\n"
                   "sxtb16 %[a], %[c], ror #8\n str %[a], [%[to], #8]\n sxtb16 %[a], %[b]\n str %[a], [%[to], #16]\n"
                   "sxtb16 %[b], %[b], ror #8\n str %[b], [%[to], #24]\n sxtb16 %[c], %[c]\n str %[c], [%[to]], #32\n"
                   "subs %[n], %[n], #1\n bne 1b\n"
                   : [u] "+r"(upper), [l] "+r"(lower), [to] "+r"(to), [n] "+r"(count), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
                   : [us] "r"(upper_step), [ls] "r"(lower_step)
                   : "memory", "cc");
#else
    for (; count > 0; count--) {
        for (int32_t c = 0; c < 4; c++) {
            to[2 * c] = nncc_dsp_pair(upper[c], lower[c]);
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
static const int8_t *row_of(const nncc_dsp_depthwise_params *p, const int8_t *x, int32_t row, const int8_t *pad, int32_t *step)
{
    if (row < 0 || row >= p->in_h) {
        *step = 0;
        return pad;
    }
    *step = p->channels;
    return x + row * p->in_w * p->channels;
}

/* The word of rows row and row + 1 for all columns of a group of channels. */
static void pair_rows(const nncc_dsp_depthwise_params *p, const int8_t *x, int32_t row, const int8_t *pad, int32_t *to)
{
    const int32_t columns = p->out_w + 2;
    const int32_t end = p->pad_w + p->in_w < columns ? p->pad_w + p->in_w : columns;
    int32_t us, ls;
    const int8_t *const upper = row_of(p, x, row, pad, &us), *const lower = row_of(p, x, row + 1, pad, &ls);

    interleave(upper, us, lower, ls, end - p->pad_w, to + 8 * p->pad_w);
}

void nncc_dsp_depthwise_3x3_s8(const nncc_dsp_depthwise_params *p, const int8_t *x, const int32_t *w, int8_t *y,
                               int32_t *scratch)
{
    const int32_t columns = p->out_w + 2, ends = p->pad_w + p->in_w;
    const int32_t pad_word = nncc_dsp_pair(p->pad, p->pad);
    int8_t pad[4];

    memset(pad, p->pad, sizeof pad);
    for (int32_t slot = 0; slot < 2; slot++) {
        pad_columns(scratch + slot, 0, p->pad_w < columns ? p->pad_w : columns, pad_word);
        pad_columns(scratch + slot, ends < columns ? ends : columns, columns, pad_word);
    }
    for (int32_t n = 0; n < p->batches; n++) {
        const int32_t *weights = w;

        for (int32_t c = 0; c < p->channels; c += 4) {
            const int32_t from = c + 4 > p->channels ? p->channels - 4 : c;
            nncc_dsp_rows3_params r = {p->out_w, p->channels, p->out_w * p->channels};
            int8_t *out = y + from;
            int32_t odd = 0;

            pair_rows(p, x + from, -p->pad_h, pad, scratch);
            for (int32_t oy = 0; oy < p->out_h; oy += 2) {
                if (oy + 1 == p->out_h) {
                    r.down = 0;
                }
                pair_rows(p, x + from, oy - p->pad_h + 2, pad, scratch + 1 - odd);
                if (odd) {
                    nncc_dsp_rows3_odd_s8(&r, scratch, weights, out);
                } else {
                    nncc_dsp_rows3_even_s8(&r, scratch, weights, out);
                }
                odd = 1 - odd;
                out += 2 * p->out_w * p->channels;
            }
            weights += 40;
        }
        if (p->cap != 0) {
            nncc_dsp_clamp_s8(p->out_h * p->out_w * p->channels, p->low, p->cap, y);
        }
        x += p->in_h * p->in_w * p->channels;
        y += p->out_h * p->out_w * p->channels;
    }
}
