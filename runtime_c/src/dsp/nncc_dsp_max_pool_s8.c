/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_max_pool_s8: four channels at a time by SSUB8 and SEL. */
#include "nncc_dsp_pool.h"

/* The larger of max and count pixels, step bytes apart, in each byte. */
static int32_t max_pixels(const int8_t *x, int32_t count, int32_t step, int32_t max)
{
#if NNCC_DSP_ASM
    int32_t v, t;

    if (count > 0) {
        __asm volatile(
            "1:\n ldr %[v], [%[x]]\n add %[x], %[x], %[step]\n ssub8 %[t], %[max], %[v]\n sel %[max], %[max], %[v]\n"
            "subs %[n], %[n], #1\n bne 1b\n"
            : [v] "=&r"(v), [t] "=&r"(t), [x] "+r"(x), [n] "+r"(count), [max] "+r"(max)
            : [step] "r"(step)
            : "memory", "cc");
    }
#else
    for (; count > 0; count--) {
        max = (int32_t)nncc_max8((uint32_t)max, (uint32_t)nncc_dsp_load4(x));
        x += step;
    }
#endif
    return max;
}

static void window_max(const nncc_dsp_pool_params *p, const int8_t *x, int32_t rows, int32_t cols, int8_t *y)
{
    const int32_t step = p->channels, row = p->in_w * step;
    int32_t c = 0;

    for (; c + 4 <= step; c += 4) {
        int32_t max = nncc_dsp_load4(x + c);

        for (int32_t i = 0; i < rows; i++) {
            max = max_pixels(x + i * row + c, cols, step, max);
        }
        memcpy(y + c, &max, sizeof max);
    }
    for (; c < step; c++) {
        int8_t max = x[c];

        for (int32_t i = 0; i < rows; i++) {
            for (int32_t k = 0; k < cols; k++) {
                const int8_t v = x[i * row + k * step + c];

                max = v > max ? v : max;
            }
        }
        y[c] = max;
    }
}

void nncc_dsp_max_pool_s8(const nncc_dsp_pool_params *p, const int8_t *x, int8_t *y)
{
    nncc_dsp_pool_windows(p, window_max, x, y);
}
