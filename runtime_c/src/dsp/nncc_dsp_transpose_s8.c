/*
 * nncc_dsp_transpose_s8: blocks of four rows and four columns in registers (4 words loaded, 4 stored, 12 packing
 * instructions); what remains, and everything without the DSP extension, by strides.
 */
#include "nncc_dsp_core.h"

#include "nncc_strided.h"

#if NNCC_DSP_ASM
/* Four words of four rows become four words of four columns. */
static void block4(const int8_t *x, int32_t cols, int8_t *y, int32_t rows)
{
    uint32_t a = (uint32_t)nncc_dsp_load4(x), b = (uint32_t)nncc_dsp_load4(x + cols);
    uint32_t c = (uint32_t)nncc_dsp_load4(x + 2 * cols), d = (uint32_t)nncc_dsp_load4(x + 3 * cols);
    uint32_t e, f, g, h;

    /* uxtb16 parts even and odd bytes; the halves then hold two rows each */
    __asm volatile(
        "uxtb16 %[e], %[a]\n uxtb16 %[a], %[a], ror #8\n uxtb16 %[f], %[b]\n uxtb16 %[b], %[b], ror #8\n"
        "uxtb16 %[g], %[c]\n uxtb16 %[c], %[c], ror #8\n uxtb16 %[h], %[d]\n uxtb16 %[d], %[d], ror #8\n"
        "orr %[e], %[e], %[f], lsl #8\n orr %[a], %[a], %[b], lsl #8\n"
        "orr %[g], %[g], %[h], lsl #8\n orr %[c], %[c], %[d], lsl #8\n"
        "pkhbt %[f], %[e], %[g], lsl #16\n pkhtb %[h], %[g], %[e], asr #16\n"
        "pkhbt %[b], %[a], %[c], lsl #16\n pkhtb %[d], %[c], %[a], asr #16\n"
        : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [e] "=&r"(e), [f] "=&r"(f), [g] "=&r"(g), [h] "=&r"(h));
    memcpy(y, &f, 4);
    memcpy(y + rows, &b, 4);
    memcpy(y + 2 * rows, &h, 4);
    memcpy(y + 3 * rows, &d, 4);
}
#endif

void nncc_dsp_transpose_s8(const nncc_dsp_transpose_params *p, const int8_t *x, int8_t *y)
{
    const int32_t rows = p->rows;
    const int32_t cols = p->cols;
    int32_t n;

    for (n = 0; n < p->batches; n++) {
        int32_t down = 0; /* rows and columns that went by blocks */
        int32_t right = 0;
        int32_t r;
        int32_t c;

#if NNCC_DSP_ASM
        if (rows >= 4 && cols >= 4) {
            down = rows & ~3;
            right = cols & ~3;
            for (r = 0; r < down; r += 4) {
                for (c = 0; c < right; c += 4) {
                    block4(x + r * cols + c, cols, y + c * rows + r, rows);
                }
            }
        }
#endif
        if (down == 0 && rows > cols) { /* the longer loop is inside */
            down = rows;
        }
        for (c = right; c < cols && down > 0; c++) {
            nncc_together((uint8_t *)(y + c * rows), (const uint8_t *)(x + c), cols, down);
        }
        for (r = down; r < rows; r++) {
            nncc_apart((uint8_t *)(y + r), rows, (const uint8_t *)(x + r * cols), cols);
        }
        x += rows * cols;
        y += rows * cols;
    }
}
