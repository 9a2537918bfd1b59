/*
 * nncc_dsp_avg_pool_s8: four channels at a time in two words of 16-bit sums, at most 255 elements before they are added to
 * 32-bit ones. Four elements are 1 load, 2 additions and the loop: about 1.5 instructions an element.
 */
#include "nncc_dsp_pool.h"

#define BLOCK 255

/* Adds count pixels, step bytes apart, to four sums. */
static void add_pixels(const int8_t *x, int32_t count, int32_t step, int32_t sums[4])
{
#if NNCC_DSP_ASM
    while (count > 0) {
        int32_t n = count < BLOCK ? count : BLOCK;
        int32_t even = 0, odd = 0, v;

        count -= n;
        __asm volatile("1:\n ldr %[v], [%[x]]\n add %[x], %[x], %[step]\n subs %[n], %[n], #1\n"
                       "sxtab16 %[e], %[e], %[v]\n sxtab16 %[o], %[o], %[v], ror #8\n bne 1b\n"
                       : [v] "=&r"(v), [x] "+r"(x), [n] "+r"(n), [e] "+r"(even), [o] "+r"(odd)
                       : [step] "r"(step)
                       : "memory", "cc");
        sums[0] += nncc_dsp_lo(even);
        sums[1] += nncc_dsp_lo(odd);
        sums[2] += nncc_dsp_hi(even);
        sums[3] += nncc_dsp_hi(odd);
    }
#else
    for (; count > 0; count--) {
        for (int32_t c = 0; c < 4; c++) {
            sums[c] += x[c];
        }
        x += step;
    }
#endif
}

static int8_t mean(int32_t sum, int32_t count, const nncc_dsp_pool_params *p)
{
    const int32_t half = count / 2, v = (sum > 0 ? sum + half : sum - half) / count;

    return nncc_dsp_clamp(v - nncc_dsp_byte((int32_t)(p->low & 255u)), p->low, p->cap);
}

/* One window, columns [x0, x1) of rows [y0, y1). */
static void window_mean(const nncc_dsp_pool_params *p, const int8_t *x, int32_t y0, int32_t y1, int32_t x0, int32_t x1, int8_t *y)
{
    const int32_t count = (y1 - y0) * (x1 - x0), step = p->channels, row = p->in_w * step;
    int32_t c = 0;

    x += y0 * row + x0 * step;
    for (; c + 4 <= step; c += 4) {
        int32_t sums[4] = {0, 0, 0, 0};

        if (x1 - x0 == p->in_w) { /* whole rows follow each other */
            add_pixels(x + c, count, step, sums);
        } else {
            for (int32_t i = 0; i < y1 - y0; i++) {
                add_pixels(x + i * row + c, x1 - x0, step, sums);
            }
        }
        for (int32_t i = 0; i < 4; i++) {
            y[c + i] = mean(sums[i], count, p);
        }
    }
    for (; c < step; c++) {
        int32_t sum = 0;

        for (int32_t i = 0; i < y1 - y0; i++) {
            for (int32_t k = 0; k < x1 - x0; k++) {
                sum += x[i * row + k * step + c];
            }
        }
        y[c] = mean(sum, count, p);
    }
}

void nncc_dsp_avg_pool_s8(const nncc_dsp_pool_params *p, const int8_t *x, int8_t *y)
{
    for (int32_t n = 0; n < p->batches; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            int32_t y0, y1;

            nncc_dsp_cut(oy * p->stride_h - p->pad_h, p->kernel_h, p->in_h, &y0, &y1);
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                int32_t x0, x1;

                nncc_dsp_cut(ox * p->stride_w - p->pad_w, p->kernel_w, p->in_w, &x0, &x1);
                window_mean(p, x, y0, y1, x0, x1, y);
                y += p->channels;
            }
        }
        x += p->in_h * p->in_w * p->channels;
    }
}
