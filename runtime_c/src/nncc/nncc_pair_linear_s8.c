/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_pair_linear_s8: four elements in 9 instructions with Helium, 8 an element with a multiply-accumulate. */
#include "nncc_pair.h"

void nncc_pair_linear_s8(const void *form, const int8_t *a, const int8_t *b, int8_t *y, int32_t n)
{
    const nncc_pair_linear_s8_params *const p = (const nncc_pair_linear_s8_params *)form;
#if NNCC_PAIR_MVE
    __asm volatile("ldr lr, [%[p]]\n\t"
                   "vdup.32 q2, lr\n\t"
                   "ldr lr, [%[p], #16]\n\t"
                   "vdup.32 q3, lr\n\t"
                   "ldr lr, [%[p], #20]\n\t"
                   "vdup.32 q4, lr\n\t"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.s32 q0, [%[a]], #4\n\t"
                   "vldrb.s32 q1, [%[b]], #4\n\t"
                   "vmlas.s32 q0, q2, %[c]\n\t"
                   "vmla.s32 q0, q1, %[kb]\n\t"
                   "vshl.s32 q0, %[shift]\n\t"
                   "vmax.s32 q0, q0, q3\n\t"
                   "vmin.s32 q0, q0, q4\n\t"
                   "vstrb.32 q0, [%[y]], #4\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [a] "+l"(a), [b] "+l"(b), [y] "+l"(y)
                   : [n] "r"(n), [p] "r"(p), [kb] "r"(p->b), [c] "r"(p->c), [shift] "r"(-p->shift)
                   : "lr", "q0", "q1", "q2", "q3", "q4", "cc", "memory");
#elif NNCC_MVE_C
    const int32x4_t ka = vdupq_n_s32(p->a), lo = vdupq_n_s32(p->act_min), hi = vdupq_n_s32(p->act_max);
    const int32_t kb = p->b, c = p->c, up = -p->shift;

    NNCC_PAIR_FOURS(nncc_limit4(vshlq_r_s32(vmlaq_n_s32(vmlasq_n_s32(u, ka, c), v, kb), up), lo, hi));
#else
    const int32_t ka = p->a, kb = p->b, c = p->c, shift = p->shift, lo = p->act_min, hi = p->act_max;

    NNCC_PAIR_LOOP(lo, hi, (ka * u + c + kb * v) >> shift);
#endif
}
