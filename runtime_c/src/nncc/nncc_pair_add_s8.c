/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_pair_add_s8: four elements in 22 instructions with Helium, some 40 an element with SMMULR. */
#include "nncc_pair.h"

#if NNCC_PAIR_MVE

/* Ties of the right shift go away from zero: negative values one down before VRSHL rounds them up. */
#define NNCC_ADD_DOWN(q, by) \
    "vshr.s32 q2, " #q ", #31\n\t" \
    "vadd.i32 " #q ", " #q ", q2\n\t" \
    "vrshl.s32 " #q ", " #by "\n\t"

#elif NNCC_MVE_C

static inline int32x4_t nncc_add_down4(int32x4_t v, int32_t shift)
{
    return vrshlq_n_s32(vaddq_s32(v, vshrq_n_s32(v, 31)), -shift);
}

static inline int32x4_t nncc_add_four(const nncc_pair_add_s8_params *p, int32x4_t u, int32x4_t v)
{
    u = vqrdmulhq_n_s32(vmlasq_n_s32(u, vdupq_n_s32(p->a_unit), p->a_offset), p->a_mult);
    v = vqrdmulhq_n_s32(vmlasq_n_s32(v, vdupq_n_s32(p->b_unit), p->b_offset), p->b_mult);
    u = vqrdmulhq_n_s32(vaddq_s32(nncc_add_down4(u, p->a_shift), nncc_add_down4(v, p->b_shift)), p->mult);
    return nncc_limit4(vaddq_n_s32(nncc_add_down4(u, p->shift), p->out_zero), vdupq_n_s32(p->act_min),
                       vdupq_n_s32(p->act_max));
}

#else

/* The upper 32 bits of v * m, rounded, over 2^shift, ties away from zero; half is half of that. */
static inline int32_t nncc_add_down(int32_t v, int32_t m, int32_t half, int32_t shift)
{
#if NNCC_SIMD32 && NNCC_ASM
    int32_t r;

    __asm("smmulr %0, %1, %2" : "=r"(r) : "r"(v), "r"(m));
#else
    const int32_t r = (int32_t)(((int64_t)v * m + 0x80000000LL) >> 32);
#endif

    return (r + (r >> 31) + half) >> shift;
}

#endif

void nncc_pair_add_s8(const void *form, const int8_t *a, const int8_t *b, int8_t *y, int32_t n)
{
    const nncc_pair_add_s8_params *const p = (const nncc_pair_add_s8_params *)form;
#if NNCC_PAIR_MVE
    /* As many registers as there are but r7, the frame pointer of unoptimised builds. */
    register const int8_t *from __asm("r0") = a;
    register const int8_t *other __asm("r1") = b;
    register int8_t *to __asm("r2") = y;
    register int32_t count __asm("r12") = n;
    register const nncc_pair_add_s8_params *params __asm("lr") = p;

    /* clang-format off */
    __asm volatile("ldrd r3, r4, [%[p]]\n\t"
                   "vdup.32 q4, r3\n\t"
                   "ldrd r5, r6, [%[p], #8]\n\t"
                   "rsb r6, r6, #0\n\t"
                   "ldrd r3, r8, [%[p], #16]\n\t"
                   "vdup.32 q5, r3\n\t"
                   "ldrd r9, r10, [%[p], #24]\n\t"
                   "rsb r10, r10, #0\n\t"
                   "ldrd r3, r11, [%[p], #36]\n\t"
                   "vdup.32 q3, r11\n\t"
                   "rsb r11, r3, #0\n\t"
                   "ldr r3, [%[p], #44]\n\t"
                   "vdup.32 q6, r3\n\t"
                   "ldr r3, [%[p], #48]\n\t"
                   "vdup.32 q7, r3\n\t"
                   "ldr r3, [%[p], #32]\n\t"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.s32 q0, [%[a]], #4\n\t"
                   "vldrb.s32 q1, [%[b]], #4\n\t"
                   "vmlas.s32 q0, q4, r4\n\t"
                   "vmlas.s32 q1, q5, r8\n\t"
                   "vqrdmulh.s32 q0, q0, r5\n\t"
                   "vqrdmulh.s32 q1, q1, r9\n\t"
                   NNCC_ADD_DOWN(q0, r6)
                   NNCC_ADD_DOWN(q1, r10)
                   "vadd.i32 q0, q0, q1\n\t"
                   "vqrdmulh.s32 q0, q0, r3\n\t"
                   NNCC_ADD_DOWN(q0, r11)
                   "vadd.i32 q0, q0, q3\n\t"
                   "vmax.s32 q0, q0, q6\n\t"
                   "vmin.s32 q0, q0, q7\n\t"
                   "vstrb.32 q0, [%[y]], #4\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [a] "+r"(from), [b] "+r"(other), [y] "+r"(to), [n] "+r"(count), [p] "+r"(params)
                   :
                   : "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7",
                     "cc", "memory");
    /* clang-format on */
#elif NNCC_MVE_C
    const nncc_pair_add_s8_params q = *p; /* stores could change what p points to */

    NNCC_PAIR_FOURS(nncc_add_four(&q, u, v));
#else
    const nncc_pair_add_s8_params q = *p;
    const int32_t half_a = (int32_t)((uint32_t)1 << (q.a_shift - 1));
    const int32_t half_b = (int32_t)((uint32_t)1 << (q.b_shift - 1));
    const int32_t half = (int32_t)((uint32_t)1 << (q.shift - 1));

    for (; n > 0; n--) {
        const int32_t u = nncc_add_down(2 * (q.a_offset + q.a_unit * *a++), q.a_mult, half_a, q.a_shift);
        const int32_t v = nncc_add_down(2 * (q.b_offset + q.b_unit * *b++), q.b_mult, half_b, q.b_shift);
        const int32_t r = nncc_add_down(2 * (u + v), q.mult, half, q.shift) + q.out_zero;

        *y++ = (int8_t)(r < q.act_min ? q.act_min : (r > q.act_max ? q.act_max : r));
    }
#endif
}
