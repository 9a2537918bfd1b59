/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_pair_mul_s8: eight elements in 19 instructions with Helium where products with their fractions may saturate at
 * 16 bits, four in 14 elsewhere; four in 34 with the DSP extension.
 */
#include "nncc_pair.h"
#include "nncc_requant.h"
#include "nncc_simd32.h"

#if NNCC_PAIR_MVE

/* Eight products, 16 bits each after the first rounding, between the loads and the store. */
#define NNCC_MUL_EIGHT \
    "vadd.i16 q0, q0, q4\n\t" \
    "vadd.i16 q1, q1, q5\n\t" \
    "vmullb.s16 q2, q0, q1\n\t" \
    "vmullt.s16 q3, q0, q1\n\t" \
    "vqrdmulh.s32 q2, q2, %[mult]\n\t" \
    "vqrdmulh.s32 q3, q3, %[mult]\n\t" \
    "vqmovnb.s32 q0, q2\n\t" \
    "vqmovnt.s32 q0, q3\n\t" \
    "vshr.s16 q1, q0, #15\n\t" \
    "vqadd.s16 q0, q0, q1\n\t" \
    "vrshl.s16 q0, %[shift]\n\t" \
    "vadd.i16 q0, q0, %[zero]\n\t" \
    "vmax.s16 q0, q0, q6\n\t" \
    "vmin.s16 q0, q0, q7\n\t"

/* The last vector is predicated in memory only: predicates of 16 bits cut products of 32 in half. */
static void nncc_mul_narrow(const nncc_pair_mul_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y, int32_t n)
{
    __asm volatile("ldr lr, [%[p]]\n\t"
                   "vdup.16 q4, lr\n\t"
                   "ldr lr, [%[p], #4]\n\t"
                   "vdup.16 q5, lr\n\t"
                   "ldr lr, [%[p], #20]\n\t"
                   "vdup.16 q6, lr\n\t"
                   "ldr lr, [%[p], #24]\n\t"
                   "vdup.16 q7, lr\n\t"
                   "lsr lr, %[n], #3\n\t"
                   "wls lr, lr, 2f\n"
                   "1:\n\t"
                   "vldrb.s16 q0, [%[a]], #8\n\t"
                   "vldrb.s16 q1, [%[b]], #8\n\t" NNCC_MUL_EIGHT "vstrb.16 q0, [%[y]], #8\n\t"
                   "le lr, 1b\n"
                   "2:\n\t"
                   "ands lr, %[n], #7\n\t"
                   "beq 3f\n\t"
                   "vctp.16 lr\n\t"
                   "vpstt\n\t"
                   "vldrbt.s16 q0, [%[a]]\n\t"
                   "vldrbt.s16 q1, [%[b]]\n\t" NNCC_MUL_EIGHT "vpst\n\t"
                   "vstrbt.16 q0, [%[y]]\n"
                   "3:\n\t"
                   : [a] "+l"(a), [b] "+l"(b), [y] "+l"(y)
                   : [n] "r"(n), [p] "r"(p), [mult] "r"(p->mult), [shift] "r"(-p->shift), [zero] "r"(p->out_zero)
                   : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");
}

static void nncc_mul_wide(const nncc_pair_mul_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y, int32_t n)
{
    __asm volatile("ldr lr, [%[p]]\n\t"
                   "vdup.32 q4, lr\n\t"
                   "ldr lr, [%[p], #4]\n\t"
                   "vdup.32 q5, lr\n\t"
                   "ldr lr, [%[p], #20]\n\t"
                   "vdup.32 q6, lr\n\t"
                   "ldr lr, [%[p], #24]\n\t"
                   "vdup.32 q7, lr\n\t"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.s32 q0, [%[a]], #4\n\t"
                   "vldrb.s32 q1, [%[b]], #4\n\t"
                   "vadd.i32 q0, q0, q4\n\t"
                   "vadd.i32 q1, q1, q5\n\t"
                   "vmul.i32 q0, q0, q1\n\t"
                   "vqrdmulh.s32 q0, q0, %[mult]\n\t"
                   "vshr.s32 q1, q0, #31\n\t"
                   "vadd.i32 q0, q0, q1\n\t"
                   "vrshl.s32 q0, %[shift]\n\t"
                   "vadd.i32 q0, q0, %[zero]\n\t"
                   "vmax.s32 q0, q0, q6\n\t"
                   "vmin.s32 q0, q0, q7\n\t"
                   "vstrb.32 q0, [%[y]], #4\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [a] "+l"(a), [b] "+l"(b), [y] "+l"(y)
                   : [n] "r"(n), [p] "r"(p), [mult] "r"(p->mult), [shift] "r"(-p->shift), [zero] "r"(p->out_zero)
                   : "lr", "q0", "q1", "q4", "q5", "q6", "q7", "cc", "memory");
}

#elif NNCC_MVE_C

static inline int16x8_t nncc_mul_eight(const nncc_pair_mul_s8_params *p, int16x8_t u, int16x8_t v)
{
    const int32x4_t even = vqrdmulhq_n_s32(vmullbq_int_s16(u, v), p->mult);
    const int32x4_t odd = vqrdmulhq_n_s32(vmulltq_int_s16(u, v), p->mult);
    int16x8_t r = vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), even), odd);

    r = vaddq_n_s16(vrshlq_n_s16(vqaddq_s16(r, vshrq_n_s16(r, 15)), -p->shift), (int16_t)p->out_zero);
    return vminq_s16(vmaxq_s16(r, vdupq_n_s16((int16_t)p->act_min)), vdupq_n_s16((int16_t)p->act_max));
}

static inline int32x4_t nncc_mul_four(const nncc_pair_mul_s8_params *p, int32x4_t u, int32x4_t v)
{
    const int32x4_t r = vqrdmulhq_n_s32(vmulq_s32(u, v), p->mult);

    return nncc_limit4(vaddq_n_s32(vrshlq_n_s32(vaddq_s32(r, vshrq_n_s32(r, 31)), -p->shift), p->out_zero),
                       vdupq_n_s32(p->act_min), vdupq_n_s32(p->act_max));
}

#else

/* The result of twice a product. */
#define NNCC_MUL_RESULT(t) (nncc_pair_high_add(t, mult, c + ((t) >> 31)) >> shift)

#if NNCC_SIMD32 && !defined(__OPTIMIZE_SIZE__)
#define NNCC_MUL_WORDS 1

/* Those of the products of both halves. */
static inline uint32_t nncc_mul_halves(uint32_t u, uint32_t v, int32_t mult, int32_t c, int32_t shift)
{
    const int32_t low = nncc_low_half(u) * nncc_low_half(v), high = nncc_high_half(u) * nncc_high_half(v);

    return nncc_pack_low((uint32_t)NNCC_MUL_RESULT(low), (uint32_t)NNCC_MUL_RESULT(high));
}

#else
#define NNCC_MUL_WORDS 0
#endif

#endif

void nncc_pair_mul_s8(const void *form, const int8_t *a, const int8_t *b, int8_t *y, int32_t n)
{
    const nncc_pair_mul_s8_params *const p = (const nncc_pair_mul_s8_params *)form;
#if NNCC_PAIR_MVE
    if (p->narrow != 0) {
        nncc_mul_narrow(p, a, b, y, n);
    } else {
        nncc_mul_wide(p, a, b, y, n);
    }
#elif NNCC_MVE_C
    const nncc_pair_mul_s8_params q = *p; /* stores could change what p points to */
    const int32_t oa = q.a_offset, ob = q.b_offset;

    if (q.narrow != 0) {
        NNCC_PAIR_EIGHTS(nncc_mul_eight(&q, vaddq_n_s16(u, (int16_t)oa), vaddq_n_s16(v, (int16_t)ob)));
    } else {
        NNCC_PAIR_FOURS(nncc_mul_four(&q, vaddq_n_s32(u, oa), vaddq_n_s32(v, ob)));
    }
#else
    /* Half a step of the shift is in the start value; negative products get 1 less: their ties go down. */
    const int32_t shift = p->shift, mult = p->mult, lo = p->act_min, hi = p->act_max;
    const int32_t oa = 2 * p->a_offset, ob = p->b_offset;
    const int32_t c = (int32_t)(((uint32_t)1 << (shift - 1)) + ((uint32_t)p->out_zero << shift));
    int32_t t;

#if NNCC_MUL_WORDS
    if (lo <= -128 && hi >= 127) { /* pairs of halves: values of a are doubled by their second sum */
        const uint32_t u = nncc_pack_low((uint32_t)oa, (uint32_t)oa), v = nncc_pack_low((uint32_t)ob, (uint32_t)ob);

        NNCC_ROLLED
        for (int32_t k = n >> 2; k > 0; k--) {
            const uint32_t wa = nncc_load_word(a), wb = nncc_load_word(b);
            const uint32_t ae = nncc_add_even(nncc_add_even(u, wa), wa), be = nncc_add_even(v, wb);
            const uint32_t ao = nncc_add_odd(nncc_add_odd(u, wa), wa), bo = nncc_add_odd(v, wb);
            const uint32_t even = nncc_mul_halves(ae, be, mult, c, shift);

            nncc_store_word(y, nncc_limit_bytes(even, nncc_mul_halves(ao, bo, mult, c, shift)));
            a += 4;
            b += 4;
            y += 4;
        }
        n &= 3;
    }
#endif
    NNCC_PAIR_LOOP(lo, hi, (t = (oa + 2 * u) * (ob + v), NNCC_MUL_RESULT(t)));
#endif
}
