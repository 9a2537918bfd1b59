/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_pair_ratio_s8: four elements in 11 instructions with Helium, 8 an element with SMMULR. */
#include "nncc_pair.h"

#if NNCC_MVE_C
#define NNCC_RATIO_FOUR(what, table) \
    do { \
        const int32x4_t f = vldrwq_gather_shifted_offset_s32(table, NNCC_GET4U##what(b)); \
        const int32x4_t v = vqrdmulhq_s32(vmlasq_n_s32(NNCC_GET4##what(a), steps, c), f); \
\
        NNCC_PUT4##what(y, nncc_limit4(vaddq_n_s32(v, zero), lo, hi)); \
        NNCC_PAIR_MOVE(4); \
    } while (0)
#endif

void nncc_pair_ratio_s8(const void *form, const int8_t *a, const int8_t *b, int8_t *y, int32_t n)
{
    const nncc_pair_ratio_s8_params *const p = (const nncc_pair_ratio_s8_params *)form;
#if NNCC_PAIR_MVE
    __asm volatile("mov lr, #256\n\t"
                   "vdup.32 q2, lr\n\t"
                   "ldr lr, [%[p], #8]\n\t"
                   "vdup.32 q3, lr\n\t"
                   "ldr lr, [%[p], #12]\n\t"
                   "vdup.32 q4, lr\n\t"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.s32 q0, [%[a]], #4\n\t"
                   "vldrb.u32 q5, [%[b]], #4\n\t"
                   "vldrw.u32 q1, [%[table], q5, uxtw #2]\n\t"
                   "vmlas.s32 q0, q2, %[c]\n\t"
                   "vqrdmulh.s32 q0, q0, q1\n\t"
                   "vadd.i32 q0, q0, %[zero]\n\t"
                   "vmax.s32 q0, q0, q3\n\t"
                   "vmin.s32 q0, q0, q4\n\t"
                   "vstrb.32 q0, [%[y]], #4\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [a] "+l"(a), [b] "+l"(b), [y] "+l"(y)
                   : [n] "r"(n), [p] "r"(p), [c] "r"(-256 * p->a_zero), [table] "r"(p->factor), [zero] "r"(p->out_zero)
                   : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "cc", "memory");
#elif NNCC_MVE_C
    const int32x4_t steps = vdupq_n_s32(256), lo = vdupq_n_s32(p->act_min), hi = vdupq_n_s32(p->act_max);
    const int32_t c = -256 * p->a_zero, zero = p->out_zero;

    NNCC_MVE_LOOP(n, 4, vctp32q, NNCC_RATIO_FOUR, p->factor);
#else
    const int32_t c = -512 * p->a_zero, zero = p->out_zero, lo = p->act_min, hi = p->act_max;
    const int32_t *const factor = p->factor;

    NNCC_PAIR_LOOP(lo, hi, nncc_pair_high_add(c + 512 * u, factor[(uint8_t)v], zero));
#endif
}
