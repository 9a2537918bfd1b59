/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_pair_tables_s8: four elements in 10 instructions with Helium, 9 an element elsewhere. */
#include "nncc_pair.h"

#if NNCC_MVE_C
#define NNCC_TABLES_FOUR(what, form) \
    do { \
        const int32x4_t u = vldrwq_gather_shifted_offset_s32((form)->a, NNCC_GET4U##what(a)); \
        const int32x4_t v = vldrwq_gather_shifted_offset_s32((form)->b, NNCC_GET4U##what(b)); \
\
        NNCC_PUT4##what(y, nncc_limit4(vshlq_r_s32(vaddq_s32(u, v), up), lo, hi)); \
        NNCC_PAIR_MOVE(4); \
    } while (0)
#endif

void nncc_pair_tables_s8(const void *form, const int8_t *a, const int8_t *b, int8_t *y, int32_t n)
{
    const nncc_pair_tables_s8_params *const p = (const nncc_pair_tables_s8_params *)form;
#if NNCC_PAIR_MVE
    __asm volatile("ldr lr, [%[p], #4]\n\t"
                   "vdup.32 q2, lr\n\t"
                   "ldr lr, [%[p], #8]\n\t"
                   "vdup.32 q3, lr\n\t"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.u32 q4, [%[a]], #4\n\t"
                   "vldrb.u32 q5, [%[b]], #4\n\t"
                   "vldrw.u32 q0, [%[ta], q4, uxtw #2]\n\t"
                   "vldrw.u32 q1, [%[tb], q5, uxtw #2]\n\t"
                   "vadd.i32 q0, q0, q1\n\t"
                   "vshl.s32 q0, %[shift]\n\t"
                   "vmax.s32 q0, q0, q2\n\t"
                   "vmin.s32 q0, q0, q3\n\t"
                   "vstrb.32 q0, [%[y]], #4\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [a] "+l"(a), [b] "+l"(b), [y] "+l"(y)
                   : [n] "r"(n), [p] "r"(p), [ta] "r"(p->a), [tb] "r"(p->b), [shift] "r"(-p->shift)
                   : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "cc", "memory");
#elif NNCC_MVE_C
    const int32x4_t lo = vdupq_n_s32(p->act_min), hi = vdupq_n_s32(p->act_max);
    const int32_t up = -p->shift;

    NNCC_MVE_LOOP(n, 4, vctp32q, NNCC_TABLES_FOUR, p);
#else
    const int32_t shift = p->shift, lo = p->act_min, hi = p->act_max;
    const int32_t *const ta = p->a, *const tb = p->b;

    NNCC_PAIR_LOOP(lo, hi, (ta[(uint8_t)u] + tb[(uint8_t)v]) >> shift);
#endif
}
