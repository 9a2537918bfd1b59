/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_transpose_s8: blocks of four rows and four columns in registers (4 words loaded, 4 stored, 12 packing
 * instructions); what remains, and everything without the DSP extension, by strides.
 */
#include "nncc_dsp_core.h"

#include "nncc_strided.h"

#if NNCC_DSP_ASM
/*
 * n blocks, n > 0: four words of four rows become four words of four columns. The halves of two words hold two rows of
 * a column first; SEL with GE set for bytes 0 and 2 puts the other two rows between. A block is 25 instructions.
 */
static void blocks4(const int8_t *x, int32_t cols, int32_t n, int8_t *y, int32_t rows)
{
    uint32_t a, b, c, d, e;

    __asm volatile(
        "mov %[a], #0x00ff00ff\n mov %[b], #0x00010001\n uadd8 %[a], %[a], %[b]\n"
        "1:\n"
        "add %[d], %[x], %[xs]\n ldr %[b], [%[d]]\n ldr %[d], [%[d], %[xs], lsl #1]\n"
        "ldr %[c], [%[x], %[xs], lsl #1]\n ldr %[a], [%[x]], #4\n"
        "pkhbt %[e], %[a], %[c], lsl #16\n pkhtb %[c], %[c], %[a], asr #16\n"
        "pkhbt %[a], %[b], %[d], lsl #16\n pkhtb %[d], %[d], %[b], asr #16\n"
        "lsl %[b], %[a], #8\n sel %[b], %[e], %[b]\n str %[b], [%[y]]\n"
        "lsr %[e], %[e], #8\n sel %[e], %[e], %[a]\n str %[e], [%[y], %[ys]]\n"
        "lsl %[b], %[d], #8\n sel %[b], %[c], %[b]\n str %[b], [%[y], %[ys], lsl #1]\n"
        "lsr %[c], %[c], #8\n sel %[c], %[c], %[d]\n add %[a], %[y], %[ys]\n str %[c], [%[a], %[ys], lsl #1]\n"
        "add %[y], %[y], %[ys], lsl #2\n subs %[n], %[n], #1\n bne 1b\n"
        : [x] "+r"(x), [y] "+r"(y), [n] "+r"(n), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d), [e] "=&r"(e)
        : [xs] "r"(cols), [ys] "r"(rows)
        : "memory", "cc");
}
#elif NNCC_DSP_ACLE
/* The same. */
static NNCC_APART NNCC_DSP_AS_WRITTEN void blocks4(const int8_t *x, int32_t cols, int32_t n, int8_t *y, int32_t rows)
{
    (void)__uadd8(0x00ff00ffu, 0x00010001u);
    NNCC_DSP_ROLLED
    do {
        const int8_t *const z = x + cols;
        int8_t *const to = y + rows;
        const int32_t a = nncc_dsp_load4(x), b = nncc_dsp_load4(z), c = nncc_dsp_load4(x + 2 * cols),
                      d = nncc_dsp_load4(z + 2 * cols);
        const uint32_t e = (uint32_t)nncc_dsp_lows(a, c), f = (uint32_t)nncc_dsp_highs(a, c);
        const uint32_t g = (uint32_t)nncc_dsp_lows(b, d), h = (uint32_t)nncc_dsp_highs(b, d);

        nncc_dsp_store4(y, __sel(e, g << 8));
        nncc_dsp_store4(to, __sel(e >> 8, g));
        nncc_dsp_store4(y + 2 * rows, __sel(f, h << 8));
        nncc_dsp_store4(to + 2 * rows, __sel(f >> 8, h));
        x += 4;
        y += 4 * rows;
        n--;
    } while (n > 0);
}
#endif

void nncc_dsp_transpose_s8(const nncc_dsp_transpose_params *p, const int8_t *x, int8_t *y)
{
    const int32_t rows = p->rows;
    const int32_t cols = p->cols;

    for (int32_t n = 0; n < p->batches; n++) {
        int32_t down = 0; /* rows and columns that went by blocks */
        int32_t right = 0;

#if NNCC_DSP_ASM || NNCC_DSP_ACLE
        if (rows >= 4 && cols >= 4) {
            down = rows & ~3;
            right = cols & ~3;
            for (int32_t r = 0; r < down; r += 4) {
                blocks4(x + r * cols, cols, right / 4, y + r, rows);
            }
        }
#endif
        if (down == 0 && rows > cols) { /* the longer loop is inside */
            down = rows;
        }
        for (int32_t c = right; c < cols && down > 0; c++) {
            nncc_together((uint8_t *)(y + c * rows), (const uint8_t *)(x + c), cols, down);
        }
        for (int32_t r = down; r < rows; r++) {
            nncc_apart((uint8_t *)(y + r), rows, (const uint8_t *)(x + r * cols), cols);
        }
        x += rows * cols;
        y += rows * cols;
    }
}
