/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_plain_dots.h: products of rows of bytes where there is no DSP extension. */
#include "nncc_dsp_dots.h"

#if defined(__thumb__) && !defined(__thumb2__)
#define NNCC_PLAIN_NARROW 1 /* sums and addresses of two by two do not fit the lower registers */
#else
#define NNCC_PLAIN_NARROW 0
#endif

/* Loops that want all of the lower registers are functions of their own there. */
#if NNCC_PLAIN_NARROW && defined(__GNUC__)
#define NNCC_PLAIN_LOOP static __attribute__((noinline))
#else
#define NNCC_PLAIN_LOOP static inline
#endif

NNCC_PLAIN_LOOP int32_t nncc_plain_one_by_one(const int8_t *x, const int8_t *w, int32_t n, int32_t sum)
{
#if !NNCC_PLAIN_NARROW
    for (; n >= 4; n -= 4) {
        sum += x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3];
        x += 4;
        w += 4;
    }
#endif
    x += n;
    w += n;
#if NNCC_THUMB1_ASM
    if (n > 0) {
        int32_t k = -n, v, t;

        __asm volatile(".syntax unified\n"
                       "1: ldrsb %[v], [%[x], %[k]]\n ldrsb %[t], [%[w], %[k]]\n muls %[t], %[v]\n"
                       "adds %[s], %[t]\n adds %[k], #1\n bne 1b\n"
                       : [s] "+l"(sum), [k] "+l"(k), [v] "=&l"(v), [t] "=&l"(t)
                       : [x] "l"(x), [w] "l"(w)
                       : "memory", "cc");
    }
#else
    for (int32_t k = -n; k < 0; k++) { /* no register for the end */
        sum += x[k] * w[k];
    }
#endif
    return sum;
}

/* One row by two channels, or one channel by two rows; n is above 0. */
#if NNCC_THUMB1_ASM
NNCC_DSP_NAKED static void nncc_plain_one_by_two(NNCC_DSP_ARG const int8_t *one, NNCC_DSP_ARG const int8_t *a,
                                                 NNCC_DSP_ARG const int8_t *b, NNCC_DSP_ARG int32_t n,
                                                 NNCC_DSP_ARG int32_t sums[2])
{
    /* clang-format off */
    __asm volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "ldr r4, [sp, #20]\n"
        "mov r12, r4\n"
        "ldmia r4!, {r6, r7}\n"
        "adds r0, r3\n"
        "adds r1, r3\n"
        "adds r2, r3\n"
        "rsbs r3, r3, #0\n"
        "1:\n"
        "ldrsb r4, [r0, r3]\n"
        "ldrsb r5, [r1, r3]\n"
        "muls r5, r4\n"
        "adds r6, r5\n"
        "ldrsb r5, [r2, r3]\n"
        "muls r4, r5\n"
        "adds r7, r4\n"
        "adds r3, #1\n"
        "bne 1b\n"
        "mov r4, r12\n"
        "stmia r4!, {r6, r7}\n"
        "pop {r4-r7, pc}\n");
    /* clang-format on */
}
#else
NNCC_PLAIN_LOOP void nncc_plain_one_by_two(const int8_t *one, const int8_t *a, const int8_t *b, int32_t n,
                                           int32_t sums[2])
{
    int32_t s = sums[0], t = sums[1];

#if !NNCC_PLAIN_NARROW
    for (; n >= 4; n -= 4) {
        const int32_t p = one[0], q = one[1], u = one[2], v = one[3];

        s = s + p * a[0] + q * a[1] + u * a[2] + v * a[3];
        t = t + p * b[0] + q * b[1] + u * b[2] + v * b[3];
        one += 4;
        a += 4;
        b += 4;
    }
#endif
    for (int32_t k = 0; k < n; k++) {
        const int32_t v = one[k];

        s += v * a[k];
        t += v * b[k];
    }
    sums[0] = s;
    sums[1] = t;
}
#endif

/* sums[2 * row + channel] of two rows by two channels. */
static inline void nncc_plain_two_by_two(const int8_t *x, const int8_t *z, const int8_t *v, const int8_t *w, int32_t n,
                                         int32_t sums[4])
{
#if NNCC_PLAIN_NARROW
    int32_t t[2] = {sums[0], sums[2]};

    nncc_plain_one_by_two(v, x, z, n, t);
    sums[0] = t[0];
    sums[2] = t[1];
    t[0] = sums[1];
    t[1] = sums[3];
    nncc_plain_one_by_two(w, x, z, n, t);
    sums[1] = t[0];
    sums[3] = t[1];
#else
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];

    for (const int8_t *const end = x + n; x < end;) {
        const int32_t p = *x++, q = *z++, r = *v++, s = *w++;

        a += p * r;
        b += p * s;
        c += q * r;
        d += q * s;
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
#endif
}
