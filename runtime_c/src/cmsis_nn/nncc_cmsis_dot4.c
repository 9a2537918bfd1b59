/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The inner loop of convolutions and fully connected layers. */
#include "nncc_cmsis.h"
#include "nncc_simd32.h"

#if NNCC_SIMD32
/* sum + four inputs, the even and the odd ones as halves of words, times bytes at w; sums wrap. */
static inline uint32_t dot(uint32_t sum, uint32_t even, uint32_t odd, const int8_t *w)
{
    const uint32_t v = nncc_load_word(w);

    sum = (uint32_t)nncc_dual_add((int32_t)sum, even, nncc_even_bytes(v));
    return (uint32_t)nncc_dual_add((int32_t)sum, odd, nncc_odd_bytes(v));
}
#endif

void nncc_cmsis_dot4(const int8_t *in, int32_t len, int32_t offset, const int8_t *const w[4], int32_t at,
                     uint32_t acc[4])
{
    const int8_t *w0 = w[0] + at;
    const int8_t *w1 = w[1] + at;
    const int8_t *w2 = w[2] + at;
    const int8_t *w3 = w[3] + at;
    uint32_t a0 = acc[0];
    uint32_t a1 = acc[1];
    uint32_t a2 = acc[2];
    uint32_t a3 = acc[3];

#if NNCC_SIMD32
    const uint32_t offsets = nncc_pack_low((uint32_t)offset, (uint32_t)offset);

    for (; len >= 4; len -= 4) {
        const uint32_t v = nncc_load_word(in), even = nncc_add_even(offsets, v), odd = nncc_add_odd(offsets, v);

        a0 = dot(a0, even, odd, w0);
        a1 = dot(a1, even, odd, w1);
        a2 = dot(a2, even, odd, w2);
        a3 = dot(a3, even, odd, w3);
        in += 4;
        w0 += 4;
        w1 += 4;
        w2 += 4;
        w3 += 4;
    }
#elif NNCC_ASM
/* An input by four weights; GCC runs out of registers where it unrolls the loop below. */
#define INPUT \
    "ldrsb %[x], [%[in]], #1\n add %[x], %[o]\n" \
    "ldrsb %[t], [%[w0]], #1\n mla %[a0], %[x], %[t], %[a0]\n" \
    "ldrsb %[t], [%[w1]], #1\n mla %[a1], %[x], %[t], %[a1]\n" \
    "ldrsb %[t], [%[w2]], #1\n mla %[a2], %[x], %[t], %[a2]\n" \
    "ldrsb %[t], [%[w3]], #1\n mla %[a3], %[x], %[t], %[a3]\n"
    if (len >= 4) {
        int32_t n = len & ~3, x, t;

        len &= 3;
        __asm volatile("1:\n" INPUT INPUT INPUT INPUT "subs %[n], #4\n bne 1b\n"
                       : [in] "+r"(in), [w0] "+r"(w0), [w1] "+r"(w1), [w2] "+r"(w2), [w3] "+r"(w3), [a0] "+r"(a0),
                         [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [n] "+r"(n), [x] "=&r"(x), [t] "=&r"(t)
                       : [o] "r"(offset)
                       : "memory", "cc");
    }
#endif
    for (; len > 0; len--) {
        const int32_t x = *in++ + offset;

        a0 += (uint32_t)(x * *w0++);
        a1 += (uint32_t)(x * *w1++);
        a2 += (uint32_t)(x * *w2++);
        a3 += (uint32_t)(x * *w3++);
    }
    acc[0] = a0;
    acc[1] = a1;
    acc[2] = a2;
    acc[3] = a3;
}
