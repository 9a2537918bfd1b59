/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_widen_row.h: bytes as pairs of int16. */
#include "nncc_dsp_core.h"

/* n bytes become [pairs] words in the order of nncc_dsp_widen_2rows_s8, zeros behind them. */
static inline void nncc_dsp_widen_row(const int8_t *x, int32_t n, int32_t pairs, int32_t *to)
{
    int32_t *const end = to + pairs;

#if NNCC_DSP_ASM
    for (; n >= 8; n -= 8) {
        int32_t a, b, c, d;

        __asm volatile("ldr %[a], [%[x]], #4\n ldr %[c], [%[x]], #4\n"
                       "sxtb16 %[b], %[a], ror #8\n sxtb16 %[a], %[a]\n sxtb16 %[d], %[c], ror #8\n sxtb16 %[c], %[c]\n"
                       "strd %[a], %[b], [%[to]], #8\n strd %[c], %[d], [%[to]], #8\n"
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
        const int32_t v = nncc_dsp_load4(x);

        to[0] = nncc_dsp_even(v);
        to[1] = nncc_dsp_odd(v);
        to += 2;
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
