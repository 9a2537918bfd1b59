#include "nncc_dsp_channels.h"

/* n bytes become [pairs] words in the order of nncc_dsp_widen_2rows_s8, zeros behind them. */
static void widen1(const int8_t *x, int32_t n, int32_t pairs, int32_t *to)
{
    int32_t *const end = to + pairs;

#if NNCC_DSP_ASM
    for (; n >= 16; n -= 16) {
        int32_t a, b, c, d;

        __asm volatile(".rept 2\n ldr %[a], [%[x]], #4\n ldr %[c], [%[x]], #4\n"
                       "sxtb16 %[b], %[a], ror #8\n sxtb16 %[a], %[a]\n sxtb16 %[d], %[c], ror #8\n sxtb16 %[c], %[c]\n"
                       "strd %[a], %[b], [%[to]], #8\n strd %[c], %[d], [%[to]], #8\n.endr\n"
                       : [x] "+r"(x), [to] "+r"(to), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d)
                       :
                       : "memory");
    }
#endif
    for (; n >= 4; n -= 4) {
#if NNCC_DSP_ASM
        int32_t a, b;

        __asm volatile(
            "ldr %[a], [%[x]], #4\n sxtb16 %[b], %[a], ror #8\n sxtb16 %[a], %[a]\n strd %[a], %[b], [%[to]], #8\n"
            : [x] "+r"(x), [to] "+r"(to), [a] "=&r"(a), [b] "=&r"(b)
            :
            : "memory");
#else
        *to++ = nncc_dsp_pair(x[0], x[2]);
        *to++ = nncc_dsp_pair(x[1], x[3]);
        x += 4;
#endif
    }
    if (n == 3) {
        *to++ = nncc_dsp_pair(x[0], x[2]);
        *to++ = nncc_dsp_pair(x[1], 0);
    } else if (n > 0) {
        *to++ = nncc_dsp_pair(x[0], n > 1 ? x[1] : 0);
    }
    while (to < end) {
        *to++ = 0;
    }
}

void nncc_dsp_fully_connected_s8(const nncc_dsp_fully_connected_params *p, nncc_dsp_matmul_fn *mat, const int8_t *x,
                                 const int32_t *w, int8_t *y, int32_t *scratch)
{
    nncc_dsp_matmul_params m = {0, p->pairs, 0, p->positive, p->low, p->cap, 4, NULL};

    for (int32_t row = 0; row < p->rows; row++) {
        widen1(x, p->in_c, p->pairs, scratch);
        nncc_dsp_channels(mat, &m, 1, p->out_c, p->group_words, scratch, w, y);
        x += p->in_pitch;
        y += p->out_pitch;
    }
}
