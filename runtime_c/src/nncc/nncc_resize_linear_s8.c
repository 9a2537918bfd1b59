/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_resize_linear_s8: eight values in 8 instructions with Helium; elsewhere four values are two words of two 16-bit
 * numbers, which one multiplication takes together: bytes are made unsigned, so that nothing is carried between them.
 */
#include "nncc_isa.h"
#include "nncc_mve.h"
#include "nncc_resize_linear.h"
#if NNCC_MVE
#include "nncc_resize_blend16.h"
#endif

#include <string.h>

#if NNCC_MVE

typedef int16_t nncc_resize_exact_value;

/* The least sum whose ties go up, with half a step less one. */
typedef struct
{
    int32_t up;
} nncc_resize_exact_round;

static inline nncc_resize_exact_round nncc_resize_exact_rounding(const nncc_resize_linear_s8_params *p, const int8_t *x,
                                                                 const int8_t *y)
{
    nncc_resize_exact_round r = {p->out_zero * 256 + 127};

    (void)x;
    (void)y;
    return r;
}

static inline int32_t nncc_resize_exact_padded(const nncc_resize_exact_round *r, int32_t channels)
{
    (void)r;
    return channels;
}

static inline void nncc_resize_exact_blend(const nncc_resize_linear_s8_params *p, const nncc_resize_exact_round *r,
                                           const int8_t *a, const int8_t *b, int32_t wa, int32_t wb,
                                           nncc_resize_exact_value *row)
{
    (void)r;
    nncc_resize_blend16(a, b, wa, wb, row, p->in_w * p->channels);
}

#if NNCC_ASM

static inline void nncc_resize_exact_pixel(const nncc_resize_exact_round *r, const nncc_resize_exact_value *a,
                                           const nncc_resize_exact_value *b, int32_t wa, int32_t wb, int8_t *y,
                                           int32_t n)
{
    __asm volatile("vdup.16 q2, %[wa]\n\t"
                   "mov %[wa], #127\n\t"
                   "vmov.i16 q3, #1\n\t"
                   "wlstp.16 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrh.u16 q0, [%[a]], #16\n\t"
                   "vldrh.u16 q1, [%[b]], #16\n\t"
                   "vmlas.s16 q0, q2, %[wa]\n\t"
                   "vmla.s16 q0, q1, %[wb]\n\t"
                   "vpt.s16 ge, q0, %[up]\n\t"
                   "vaddt.i16 q0, q0, q3\n\t"
                   "vshr.s16 q0, q0, #8\n\t"
                   "vstrb.16 q0, [%[y]], #8\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [a] "+r"(a), [b] "+r"(b), [y] "+l"(y), [wa] "+r"(wa)
                   : [n] "r"(n), [wb] "r"(wb), [up] "r"(r->up)
                   : "lr", "q0", "q1", "q2", "q3", "cc", "memory");
}

#else

/* Half a step, and 1 less where that is below the least sum whose ties go up: without a predicate. */
#define NNCC_RESIZE_PIXEL(what, y) \
    do { \
        const int16x8_t u = NNCC_GETH##what(a), v = NNCC_GETH##what(b); \
        const int16x8_t s = vmlaq_n_s16(vmlasq_n_s16(u, first, 128), v, (int16_t)wb); \
\
        NNCC_PUT8##what(y, vshrq_n_s16(vaddq_s16(s, vshrq_n_s16(vqsubq_n_s16(s, up), 15)), 8)); \
        a += 8; \
        b += 8; \
        y += 8; \
    } while (0)

static inline void nncc_resize_exact_pixel(const nncc_resize_exact_round *r, const nncc_resize_exact_value *a,
                                           const nncc_resize_exact_value *b, int32_t wa, int32_t wb, int8_t *y,
                                           int32_t n)
{
    const int16x8_t first = vdupq_n_s16((int16_t)wa);
    const int16_t up = (int16_t)(r->up + 1);

    NNCC_MVE_LOOP(n, 8, vctp16q, NNCC_RESIZE_PIXEL, y);
}

#endif

#else

/* Cores that read words at multiples of 4 only take others byte by byte. */
#if defined(__arm__) && defined(__GNUC__) && !defined(__ARM_FEATURE_UNALIGNED)
#define NNCC_RESIZE_WORD(p) __builtin_assume_aligned(p, 4)
#else
#define NNCC_RESIZE_WORD(p) (p)
#endif

/* Two 16-bit numbers; a single one in the lower half of channels behind the last four. */
typedef uint32_t nncc_resize_exact_value;

/* Half a step less one, and the least sum whose ties go up, both twice; 0: ties go up everywhere. */
typedef struct
{
    uint32_t half, up;
    int32_t fours;   /* of channels */
    int32_t aligned; /* words lie at multiples of 4 */
} nncc_resize_exact_round;

static inline nncc_resize_exact_round nncc_resize_exact_rounding(const nncc_resize_linear_s8_params *p, const int8_t *x,
                                                                 const int8_t *y)
{
    const uint32_t up = ((uint32_t)(p->out_zero + 128) << 8) * 0x10001u;
    const uintptr_t at = (uintptr_t)x | (uintptr_t)y | (uintptr_t)p->channels;
    nncc_resize_exact_round r = {up == 0 ? 0x800080u : 0x7f007fu, up, p->channels / 4, at % 4 == 0};

    return r;
}

/* Two words for four channels, one for each behind them. */
static inline int32_t nncc_resize_exact_padded(const nncc_resize_exact_round *r, int32_t channels)
{
    return channels - 2 * r->fours;
}

/* Four bytes, from 0 to 255. */
static inline uint32_t nncc_resize_load(const int8_t *x, int32_t aligned)
{
    uint32_t v;

    if (aligned != 0) {
        memcpy(&v, NNCC_RESIZE_WORD(x), sizeof v);
    } else {
        memcpy(&v, x, sizeof v);
    }
    return v ^ 0x80808080u;
}

/* Bytes 0 and 2, and bytes 1 and 3, as 16-bit numbers. */
static inline uint32_t nncc_resize_even(uint32_t v)
{
    return v & 0x00ff00ffu;
}

static inline uint32_t nncc_resize_odd(uint32_t v)
{
#if NNCC_SIMD32 && NNCC_ASM
    uint32_t r;

    __asm("uxtb16 %0, %1, ror #8" : "=r"(r) : "r"(v));
    return r;
#else
    return v >> 8 & 0x00ff00ffu;
#endif
}

/* Adds half a step to both sums, one less to those below `up`. */
static inline uint32_t nncc_resize_half(uint32_t sum, const nncc_resize_exact_round *r)
{
#if NNCC_SIMD32 && NNCC_ASM
    uint32_t t;

    __asm("usub16 %0, %1, %2\n\t"
          "sel %0, %3, %4"
          : "=&r"(t)
          : "r"(sum), "r"(r->up), "r"(0x800080u), "r"(0x7f007fu)
          : "cc");
    return sum + t;
#else
    const uint32_t above = ((sum >> 1 & 0x7fff7fffu) | 0x80008000u) - (r->up >> 1);

    return sum + 0x7f007fu + (above >> 15 & 0x10001u);
#endif
}

/* Four results of the sums of channels 0 and 2, and 1 and 3. */
static inline void nncc_resize_store(int8_t *y, uint32_t even, uint32_t odd, int32_t aligned)
{
    const uint32_t v = (nncc_resize_odd(even) | (odd & 0xff00ff00u)) ^ 0x80808080u;

    if (aligned != 0) {
        memcpy(NNCC_RESIZE_WORD(y), &v, sizeof v);
    } else {
        memcpy(y, &v, sizeof v);
    }
}

static NNCC_RESIZE_APART void nncc_resize_exact_blend(const nncc_resize_linear_s8_params *p,
                                                      const nncc_resize_exact_round *r, const int8_t *a,
                                                      const int8_t *b, int32_t wa, int32_t wb,
                                                      nncc_resize_exact_value *row)
{
    const uint32_t ua = (uint32_t)wa, ub = (uint32_t)wb;
    const int32_t behind = p->channels - 4 * r->fours;
    /* Pixels of whole words follow each other. */
    const int32_t fours = behind == 0 ? p->in_w * r->fours : r->fours;

    for (int32_t pixels = behind == 0 ? 1 : p->in_w; pixels > 0; pixels--) {
        for (int32_t n = fours; n > 0; n--) {
            const uint32_t u = nncc_resize_load(a, r->aligned), v = nncc_resize_load(b, r->aligned);

            row[0] = nncc_resize_even(u) * ua + nncc_resize_even(v) * ub;
            row[1] = nncc_resize_odd(u) * ua + nncc_resize_odd(v) * ub;
            row += 2;
            a += 4;
            b += 4;
        }
        for (int32_t n = behind; n > 0; n--) {
            *row++ = (uint32_t)(*a++ + 128) * ua + (uint32_t)(*b++ + 128) * ub;
        }
    }
}

static inline void nncc_resize_exact_pixel(const nncc_resize_exact_round *r, const nncc_resize_exact_value *a,
                                           const nncc_resize_exact_value *b, int32_t wa, int32_t wb, int8_t *y,
                                           int32_t channels)
{
    const uint32_t ua = (uint32_t)wa, ub = (uint32_t)wb, half = r->half;

    if (r->up == 0) {
        for (int32_t n = r->fours; n > 0; n--) {
            nncc_resize_store(y, a[0] * ua + half + b[0] * ub, a[1] * ua + half + b[1] * ub, r->aligned);
            a += 2;
            b += 2;
            y += 4;
        }
    } else {
        for (int32_t n = r->fours; n > 0; n--) {
            nncc_resize_store(y, nncc_resize_half(a[0] * ua + b[0] * ub, r), nncc_resize_half(a[1] * ua + b[1] * ub, r),
                              r->aligned);
            a += 2;
            b += 2;
            y += 4;
        }
    }
    for (int32_t n = channels - 4 * r->fours; n > 0; n--) {
        const uint32_t sum = *a++ * ua + *b++ * ub;

        *y++ = (int8_t)((int32_t)((sum + (sum < (r->up & 0xffffu) ? 127u : 128u)) >> 8) - 128);
    }
}

#endif

static NNCC_RESIZE_APART void nncc_resize_exact_columns(const nncc_resize_linear_s8_params *p,
                                                        const nncc_resize_exact_round *rounding,
                                                        const nncc_resize_exact_value *row, const int16_t *w, int8_t *y)
{
    NNCC_RESIZE_COLUMNS(nncc_resize_exact);
}

void nncc_resize_linear_s8(const nncc_resize_linear_s8_params *p, const int8_t *x, const int16_t *rows,
                           const int16_t *cols, void *scratch, int8_t *y)
{
    NNCC_RESIZE_LINEAR(nncc_resize_exact);
}
