/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_channel_lines_s8: four channels of a pixel in 10 instructions with Helium, 15 with two lines; where a channel's
 * elements are neighbours, 8 and 12. Other cores go channel by channel, whose line stays in registers, also where its
 * elements lie apart: 7 to 9 an element with MLA and SSAT.
 */
#include "nncc_pair.h"

#if NNCC_PAIR_MVE

/* q0 holds four values, q3 what COMBINE takes: what remains of either loop. */
/* clang-format off */
#define NNCC_LINES_END(combine) \
    combine \
    "vshl.s32 q0, %[shift]\n\t" \
    "vmax.s32 q0, q0, q4\n\t" \
    "vmin.s32 q0, q0, q5\n\t" \
    "vstrb.32 q0, [%[y]], #4\n\t"
/* clang-format on */

#define NNCC_LINES_BOUNDS \
    "ldr lr, [%[p], #16]\n\t" \
    "vdup.32 q4, lr\n\t" \
    "ldr lr, [%[p], #20]\n\t" \
    "vdup.32 q5, lr\n\t" \
    "ldr lr, [%[p], #24]\n\t" \
    "vdup.32 q6, lr\n\t"

/* Pixels of n channels; a last vector of fewer than four moves the pointers too far. */
/* clang-format off */
#define NNCC_LINES_PIXELS(combine) \
    __asm volatile(NNCC_LINES_BOUNDS \
                   "rsb %[p], %[n], #0\n\t" \
                   "and %[p], %[p], #3\n" \
                   "1:\n\t" \
                   "mov r5, %[m]\n\t" \
                   "mov r6, %[b]\n\t" \
                   "dlstp.32 lr, %[n]\n" \
                   "2:\n\t" \
                   "vldrb.s32 q0, [%[x]], #4\n\t" \
                   "vldrw.s32 q1, [r5], #16\n\t" \
                   "vldrw.s32 q2, [r6], #16\n\t" \
                   NNCC_LINES_END(combine) \
                   "letp lr, 2b\n\t" \
                   "sub %[x], %[x], %[p]\n\t" \
                   "sub %[y], %[y], %[p]\n\t" \
                   "subs %[rows], %[rows], #1\n\t" \
                   "bne 1b\n\t" \
                   : [x] "+r"(from), [y] "+r"(to), [rows] "+r"(rows), [p] "+r"(q) \
                   : [n] "r"(n), [m] "r"(m), [b] "r"(b), [shift] "r"(shift), [bias] "r"(bias), \
                     [zero] "r"(zero) \
                   : "r5", "r6", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "cc", "memory")
/* clang-format on */

static void nncc_lines_pixels(const nncc_channel_lines_s8_params *p, const int8_t *x, const int32_t *mult,
                              const int32_t *add, int8_t *y)
{
    register const int8_t *from __asm("r0") = x;
    register int8_t *to __asm("r1") = y;
    register const int32_t *m __asm("r2") = mult;
    register const int32_t *b __asm("r3") = add;
    register int32_t rows __asm("r4") = p->outer;
    register int32_t n __asm("r8") = p->channels;
    register int32_t shift __asm("r9") = -p->shift;
    register int32_t bias __asm("r10") = p->bias;
    register int32_t zero __asm("r11") = p->zero;
    register const nncc_channel_lines_s8_params *q __asm("r12") = p;

    if (p->two == 0) {
        NNCC_LINES_PIXELS("vmul.i32 q0, q0, q1\n\tvadd.i32 q0, q0, q2\n\t");
    } else {
        NNCC_LINES_PIXELS("vcmp.s32 ge, q0, %[zero]\n\tvmul.i32 q3, q0, q1\n\tvadd.i32 q3, q3, q2\n\t"
                          "vmlas.s32 q0, q6, %[bias]\n\tvpsel q0, q0, q3\n\t");
    }
}

/* n elements of a channel. */
/* clang-format off */
#define NNCC_LINES_ROW(combine) \
    __asm volatile(NNCC_LINES_BOUNDS \
                   "vdup.32 q1, %[m]\n\t" \
                   "wlstp.32 lr, %[n], 2f\n" \
                   "1:\n\t" \
                   "vldrb.s32 q0, [%[x]], #4\n\t" \
                   NNCC_LINES_END(combine) \
                   "letp lr, 1b\n" \
                   "2:\n\t" \
                   : [x] "+r"(from), [y] "+r"(to) \
                   : [p] "r"(q), [n] "r"(n), [m] "r"(m), [b] "r"(b), [shift] "r"(shift), [bias] "r"(bias), \
                     [zero] "r"(zero) \
                   : "lr", "q0", "q1", "q3", "q4", "q5", "q6", "cc", "memory")
/* clang-format on */

static void nncc_lines_row(const nncc_channel_lines_s8_params *p, const int8_t *x, int32_t mult, int32_t add, int8_t *y)
{
    register const int8_t *from __asm("r0") = x;
    register int8_t *to __asm("r1") = y;
    register int32_t m __asm("r2") = mult;
    register int32_t b __asm("r3") = add;
    register int32_t n __asm("r8") = p->inner;
    register int32_t shift __asm("r9") = -p->shift;
    register int32_t bias __asm("r10") = p->bias;
    register int32_t zero __asm("r11") = p->zero;
    register const nncc_channel_lines_s8_params *q __asm("r12") = p;

    if (p->two == 0) {
        NNCC_LINES_ROW("vmlas.s32 q0, q1, %[b]\n\t");
    } else {
        NNCC_LINES_ROW("vcmp.s32 ge, q0, %[zero]\n\tvmul.i32 q3, q0, %[m]\n\tvadd.i32 q3, q3, %[b]\n\t"
                       "vmlas.s32 q0, q6, %[bias]\n\tvpsel q0, q0, q3\n\t");
    }
}

#elif NNCC_MVE_C

/* Four results of lines u * m + b, and from the zero point on of that of all channels. */
static inline int32x4_t nncc_lines_four(const nncc_channel_lines_s8_params *p, int32x4_t u, int32x4_t m, int32x4_t b)
{
    int32x4_t v = vaddq_s32(vmulq_s32(u, m), b);

    if (p->two != 0) {
        v = vpselq_s32(vmlasq_n_s32(u, vdupq_n_s32(p->mult), p->bias), v, vcmpgeq_n_s32(u, p->zero));
    }
    return nncc_limit4(vshlq_r_s32(v, -p->shift), vdupq_n_s32(p->act_min), vdupq_n_s32(p->act_max));
}

static void nncc_lines_pixels(const nncc_channel_lines_s8_params *p, const int8_t *x, const int32_t *mult,
                              const int32_t *add, int8_t *y)
{
    const nncc_channel_lines_s8_params q = *p; /* stores could change what p points to */

    for (int32_t rows = q.outer; rows > 0; rows--) {
        for (int32_t c = 0; c < q.channels; c += 4) {
            const mve_pred16_t rest = vctp32q((uint32_t)(q.channels - c));

            NNCC_PUT4_REST(
                y + c, nncc_lines_four(&q, NNCC_GET4_REST(x + c), NNCC_GETW_REST(mult + c), NNCC_GETW_REST(add + c)));
        }
        x += q.channels;
        y += q.channels;
    }
}

static void nncc_lines_row(const nncc_channel_lines_s8_params *p, const int8_t *x, int32_t mult, int32_t add, int8_t *y)
{
    const nncc_channel_lines_s8_params q = *p;
    const int32x4_t m = vdupq_n_s32(mult), b = vdupq_n_s32(add);

    for (int32_t i = 0; i < q.inner; i += 4) {
        const mve_pred16_t rest = vctp32q((uint32_t)(q.inner - i));

        NNCC_PUT4_REST(y + i, nncc_lines_four(&q, NNCC_GET4_REST(x + i), m, b));
    }
}

#else

/* n elements of a channel that lie step apart, by its line, and that of all channels from the zero point on. */
static void nncc_lines_channel(const nncc_channel_lines_s8_params *p, const int8_t *x, int32_t mult, int32_t add,
                               int32_t step, int32_t n, int8_t *y)
{
    const int32_t shift = p->shift, lo = p->act_min, hi = p->act_max;

    if (p->two != 0) {
        const int32_t m = p->mult, b = p->bias, zero = p->zero;

        NNCC_PAIR_APART(step, (u >= zero ? u * m + b : u * mult + add) >> shift, NNCC_PAIR_LIMIT(r, lo, hi));
    } else if (NNCC_PAIR_SATURATED(lo, hi)) {
        NNCC_PAIR_APART(step, (u * mult + add) >> shift, nncc_sat8(r));
    } else {
        NNCC_PAIR_APART(step, (u * mult + add) >> shift, NNCC_PAIR_LIMIT(r, lo, hi));
    }
}

/* A pixel of few: what a channel's loop takes to begin is more than its elements. */
static void nncc_lines_pixel(const nncc_channel_lines_s8_params *p, const int8_t *x, const int32_t *mult,
                             const int32_t *add, int8_t *y)
{
    const int32_t shift = p->shift, lo = p->act_min, hi = p->act_max;
    int32_t n = p->channels;

    if (p->two == 0 && NNCC_PAIR_SATURATED(lo, hi)) {
        NNCC_ROLLED
        for (; n > 0; n--) {
            *y++ = (int8_t)nncc_sat8((*x++ * *mult++ + *add++) >> shift);
        }
        return;
    }
    NNCC_ROLLED
    for (; n > 0; n--) {
        const int32_t u = *x++, own = u * *mult++ + *add++;
        const int32_t r = (p->two != 0 && u >= p->zero ? u * p->mult + p->bias : own) >> shift;

        *y++ = (int8_t)NNCC_PAIR_LIMIT(r, lo, hi);
    }
}

#endif

void nncc_channel_lines_s8(const nncc_channel_lines_s8_params *p, const int8_t *x, const int32_t *mult,
                           const int32_t *bias, int8_t *y)
{
    if (p->inner == 1) {
#if NNCC_MVE
        nncc_lines_pixels(p, x, mult, bias, y);
#else
        if (p->outer < 4) {
            for (int32_t o = 0; o < p->outer; o++) {
                nncc_lines_pixel(p, x, mult, bias, y);
                x += p->channels;
                y += p->channels;
            }
            return;
        }
        for (int32_t c = 0; c < p->channels; c++) {
            nncc_lines_channel(p, x + c, mult[c], bias[c], p->channels, p->outer, y + c);
        }
#endif
        return;
    }
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t c = 0; c < p->channels; c++) {
#if NNCC_MVE
            nncc_lines_row(p, x, mult[c], bias[c], y);
#else
            nncc_lines_channel(p, x, mult[c], bias[c], 1, p->inner, y);
#endif
            x += p->inner;
            y += p->inner;
        }
    }
}
