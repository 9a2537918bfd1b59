/*
 * nncc_dsp_transpose_s8: blocks of four rows and four columns in registers (4 words loaded, 4 stored, 12 packing
 * instructions), what remains of the rows by words of one row and single bytes.
 */
#include "nncc_dsp_core.h"

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
    for (int32_t n = 0; n < p->batches; n++) {
        int32_t r = 0;

#if NNCC_DSP_ASM
        for (; r + 4 <= p->rows; r += 4) {
            int32_t c = 0;

            for (; c + 4 <= p->cols; c += 4) {
                block4(x + r * p->cols + c, p->cols, y + c * p->rows + r, p->rows);
            }
            for (; c < p->cols; c++) {
                for (int32_t i = 0; i < 4; i++) {
                    y[c * p->rows + r + i] = x[(r + i) * p->cols + c];
                }
            }
        }
#endif
        for (; r < p->rows; r++) {
            const int8_t *from = x + r * p->cols;
            int8_t *to = y + r;
            int32_t c = p->cols;

#if NNCC_DSP_ASM
            for (; c >= 4; c -= 4) {
                int32_t v;

                __asm volatile("ldr %[v], [%[x]], #4\n strb %[v], [%[y]]\n add %[y], %[y], %[s]\n lsr %[v], %[v], #8\n"
                               "strb %[v], [%[y]]\n add %[y], %[y], %[s]\n lsr %[v], %[v], #8\n"
                               "strb %[v], [%[y]]\n add %[y], %[y], %[s]\n lsr %[v], %[v], #8\n"
                               "strb %[v], [%[y]]\n add %[y], %[y], %[s]\n"
                               : [v] "=&r"(v), [x] "+r"(from), [y] "+r"(to)
                               : [s] "r"(p->rows)
                               : "memory");
            }
#endif
            for (; c > 0; c--) {
                *to = *from++;
                to += p->rows;
            }
        }
        x += p->rows * p->cols;
        y += p->rows * p->cols;
    }
}
