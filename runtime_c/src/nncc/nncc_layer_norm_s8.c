/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_layer_norm_s8: two passes over a row, one for the sums. With Helium the second is 11 instructions for 4 values,
 * with the DSP extension 25.
 */
#include "nncc_norm_s8.h"

#if NNCC_NORM_MVE

static void nncc_norm_row(const int8_t *x, int32_t n, const int32_t *terms, int32_t shift, int32_t scale,
                          int32_t offset, int8_t *y)
{
    register const int8_t *from __asm("r0") = x;
    register const int32_t *t __asm("r1") = terms;
    register int8_t *to __asm("r2") = y;
    register int32_t count __asm("r3") = n;
    register int32_t k __asm("r4") = scale;
    register int32_t c __asm("r5") = -offset;
    register int32_t up __asm("r6") = 24 - shift;

    __asm volatile("vdup.32 q3, %[k]\n\t"
                   "dlstp.32 lr, %[n]\n"
                   "1:\n\t"
                   "vldrb.s32 q0, [%[x]], #4\n\t"
                   "vldrh.s32 q1, [%[t]], #8\n\t"
                   "vmlas.s32 q0, q3, %[c]\n\t"
                   "vshl.i32 q1, q1, #16\n\t"
                   "vldrw.u32 q2, [%[t]], #16\n\t"
                   "vmulh.s32 q0, q0, q1\n\t"
                   "vadd.i32 q0, q0, q2\n\t"
                   "vqshl.s32 q0, %[up]\n\t"
                   "vshr.s32 q0, q0, #24\n\t"
                   "vstrb.32 q0, [%[y]], #4\n\t"
                   "letp lr, 1b\n\t"
                   : [x] "+r"(from), [t] "+r"(t), [y] "+r"(to)
                   : [n] "r"(count), [k] "r"(k), [c] "r"(c), [up] "r"(up)
                   : "lr", "q0", "q1", "q2", "q3", "cc", "memory");
}

#elif NNCC_MVE_C

/* Of a group's six words the first two are four halfwords. */
#define NNCC_NORM_FOUR(what, k) \
    do { \
        const int32x4_t a = vshlq_n_s32(NNCC_GETHW##what((const int16_t *)(const void *)terms), 16); \
        const int32x4_t v = vmulhq_s32(vmlasq_n_s32(NNCC_GET4##what(x), k, less), a); \
\
        terms += 2; \
        NNCC_PUT4##what(y, vshrq_n_s32(vqshlq_r_s32(vaddq_s32(v, NNCC_GETW##what(terms)), up), 24)); \
        terms += 4; \
        x += 4; \
        y += 4; \
    } while (0)

static void nncc_norm_row(const int8_t *x, int32_t n, const int32_t *terms, int32_t shift, int32_t scale,
                          int32_t offset, int8_t *y)
{
    const int32x4_t k = vdupq_n_s32(scale);
    const int32_t less = -offset, up = 24 - shift;

    NNCC_MVE_LOOP(n, 4, vctp32q, NNCC_NORM_FOUR, k);
}

#else

/* The value i of four whose six words are given. */
static inline int8_t nncc_norm_value(int32_t x, int32_t scale, int32_t offset, const int32_t *terms, int32_t i,
                                     int32_t shift)
{
    const uint32_t t = (uint32_t)x * (uint32_t)scale - (uint32_t)offset;
    const uint32_t pair = (uint32_t)terms[i >> 1];
    const int32_t a = (int16_t)(uint16_t)((i & 1) != 0 ? pair >> 16 : pair & 0xffffu);
    const int32_t high = ((int32_t)t >> 16) * a;
    const int32_t low = ((int32_t)(t & 0xffffu) * a) >> 16;

    return nncc_norm_narrow((uint32_t)high + (uint32_t)low + (uint32_t)terms[2 + i], shift);
}

#if NNCC_SIMD32 && NNCC_ASM
/* Groups of four values, at least one, for a shift of 16. */
static void nncc_norm_fours(const int8_t *x, int32_t fours, const int32_t *terms, int32_t scale, int32_t less,
                            int8_t *y)
{
    register const int8_t *from __asm("r0") = x;
    register const int32_t *t __asm("r1") = terms;
    register int8_t *to __asm("r2") = y;
    register int32_t count __asm("r3") = fours;
    register int32_t k __asm("r4") = scale;
    register int32_t c __asm("r5") = less;

    __asm volatile("1:\n\t"
                   "ldr r6, [%[x]], #4\n\t"
                   "ldmia %[t]!, {r8, r9, r10, r11, r12}\n\t"
                   "sxtb lr, r6\n\t"
                   "mla lr, lr, %[k], %[c]\n\t"
                   "smlawb r10, lr, r8, r10\n\t"
                   "sxtb lr, r6, ror #8\n\t"
                   "mla lr, lr, %[k], %[c]\n\t"
                   "smlawt r11, lr, r8, r11\n\t"
                   "sxtb lr, r6, ror #16\n\t"
                   "mla lr, lr, %[k], %[c]\n\t"
                   "smlawb r12, lr, r9, r12\n\t"
                   "asr r6, r6, #24\n\t"
                   "ldr lr, [%[t]], #4\n\t"
                   "mla r6, r6, %[k], %[c]\n\t"
                   "smlawt lr, r6, r9, lr\n\t"
                   "pkhtb r10, r12, r10, asr #16\n\t"
                   "pkhtb r11, lr, r11, asr #16\n\t"
                   "ssat16 r10, #8, r10\n\t"
                   "ssat16 r11, #8, r11\n\t"
                   "uxtb16 r10, r10\n\t"
                   "uxtb16 r11, r11\n\t"
                   "orr r10, r10, r11, lsl #8\n\t"
                   "str r10, [%[y]], #4\n\t"
                   "subs %[n], %[n], #1\n\t"
                   "bne 1b\n\t"
                   : [x] "+r"(from), [t] "+r"(t), [y] "+r"(to), [n] "+r"(count)
                   : [k] "r"(k), [c] "r"(c)
                   : "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory");
}
#endif

static void nncc_norm_row(const int8_t *x, int32_t n, const int32_t *terms, int32_t shift, int32_t scale,
                          int32_t offset, int8_t *y)
{
    int32_t i = 0;

#if NNCC_SIMD32 && NNCC_ASM
    if (shift == 16 && n >= 4) {
        nncc_norm_fours(x, n >> 2, terms, scale, (int32_t)(0u - (uint32_t)offset), y);
        i = n & ~3;
        terms += 6 * (n >> 2);
    }
#endif
    for (; i + 4 <= n; i += 4) {
        y[i] = nncc_norm_value(x[i], scale, offset, terms, 0, shift);
        y[i + 1] = nncc_norm_value(x[i + 1], scale, offset, terms, 1, shift);
        y[i + 2] = nncc_norm_value(x[i + 2], scale, offset, terms, 2, shift);
        y[i + 3] = nncc_norm_value(x[i + 3], scale, offset, terms, 3, shift);
        terms += 6;
    }
    for (int32_t k = 0; i < n; i++, k++) {
        y[i] = nncc_norm_value(x[i], scale, offset, terms, k, shift);
    }
}

#endif

void nncc_layer_norm_s8(const nncc_layer_norm_s8_params *p, const int8_t *x, const int32_t *terms, int8_t *y)
{
    for (int32_t r = 0; r < p->rows; r++) {
        nncc_norm_sums s = {0, 0};

        nncc_norm_add(x, p->len, &s);
        nncc_norm_scale k = nncc_norm_of(&p->norm, p->len, &s, p->center, p->zero);
        nncc_norm_row(x, p->len, terms, p->norm.shift, k.scale, (int32_t)(uint32_t)(uint64_t)k.offset, y);
        x += p->len;
        y += p->len;
    }
}
