/*
 * nncc_resize_linear_s8: eight values in 8 instructions with Helium; elsewhere four values are two words of two 16-bit
 * numbers, which one multiplication takes together: bytes are made unsigned, so that nothing is carried between them.
 */
#include "nncc_resize_linear.h"

#include <string.h>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1) && defined(__GNUC__) && defined(__thumb2__) && \
    !defined(__ARM_BIG_ENDIAN)

typedef int16_t nncc_resize_exact_value;

/* The least sum whose ties go up, with half a step less one. */
typedef struct
{
    int32_t up;
} nncc_resize_exact_round;

static inline nncc_resize_exact_round nncc_resize_exact_rounding(const nncc_resize_linear_s8_params *p)
{
    nncc_resize_exact_round r = {p->out_zero * 256 + 127};

    return r;
}

static inline int32_t nncc_resize_exact_padded(int32_t channels)
{
    return channels;
}

static inline void nncc_resize_exact_blend(const nncc_resize_linear_s8_params *p, const int8_t *a, const int8_t *b,
                                           int32_t wa, int32_t wb, nncc_resize_exact_value *row)
{
    __asm volatile("wlstp.16 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.s16 q0, [%[a]], #8\n\t"
                   "vldrb.s16 q1, [%[b]], #8\n\t"
                   "vmul.i16 q0, q0, %[wa]\n\t"
                   "vmla.s16 q0, q1, %[wb]\n\t"
                   "vstrh.16 q0, [%[row]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [a] "+l"(a), [b] "+l"(b), [row] "+l"(row)
                   : [n] "r"(p->in_w * p->channels), [wa] "r"(wa), [wb] "r"(wb)
                   : "lr", "q0", "q1", "cc", "memory");
}

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

/* Two 16-bit numbers. */
typedef uint32_t nncc_resize_exact_value;

/* Half a step less one, and the least sum whose ties go up, both twice; 0: ties go up everywhere. */
typedef struct
{
    uint32_t half, up;
} nncc_resize_exact_round;

static inline nncc_resize_exact_round nncc_resize_exact_rounding(const nncc_resize_linear_s8_params *p)
{
    const uint32_t up = ((uint32_t)(p->out_zero + 128) << 8) * 0x10001u;
    nncc_resize_exact_round r = {up == 0 ? 0x800080u : 0x7f007fu, up};

    return r;
}

/* Two words for four channels. */
static inline int32_t nncc_resize_exact_padded(int32_t channels)
{
    return (channels + 3) / 4 * 2;
}

/* n of four bytes, 1 to 4, from 0 to 255. */
static inline uint32_t nncc_resize_load(const int8_t *x, int32_t n)
{
    uint32_t v = 0;

    if (n >= 4) {
        memcpy(&v, x, sizeof v);
    } else {
        for (int32_t i = 0; i < n; i++) {
            v |= (uint32_t)(uint8_t)x[i] << 8 * i;
        }
    }
    return v ^ 0x80808080u;
}

static inline void nncc_resize_store(int8_t *y, uint32_t v, int32_t n)
{
    if (n >= 4) {
        memcpy(y, &v, sizeof v);
    } else {
        for (int32_t i = 0; i < n; i++) {
            y[i] = (int8_t)(uint8_t)(v >> 8 * i);
        }
    }
}

/* Bytes 0 and 2, and bytes 1 and 3, as 16-bit numbers. */
static inline uint32_t nncc_resize_even(uint32_t v)
{
    return v & 0x00ff00ffu;
}

static inline uint32_t nncc_resize_odd(uint32_t v)
{
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__) && defined(__GNUC__)
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
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__) && defined(__GNUC__)
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

static inline void nncc_resize_exact_blend(const nncc_resize_linear_s8_params *p, const int8_t *a, const int8_t *b,
                                           int32_t wa, int32_t wb, nncc_resize_exact_value *row)
{
    const uint32_t ua = (uint32_t)wa, ub = (uint32_t)wb;
    /* Whole words follow each other over all pixels. */
    const int32_t whole = p->channels % 4 == 0;
    const int32_t n = whole ? p->in_w * p->channels : p->channels;

    for (int32_t pixels = whole ? 1 : p->in_w; pixels > 0; pixels--) {
        for (int32_t left = n; left > 0; left -= 4) {
            const uint32_t u = nncc_resize_load(a, left), v = nncc_resize_load(b, left);
            const int32_t step = left < 4 ? left : 4;

            row[0] = nncc_resize_even(u) * ua + nncc_resize_even(v) * ub;
            row[1] = nncc_resize_odd(u) * ua + nncc_resize_odd(v) * ub;
            row += 2;
            a += step;
            b += step;
        }
    }
}

static inline void nncc_resize_exact_pixel(const nncc_resize_exact_round *r, const nncc_resize_exact_value *a,
                                           const nncc_resize_exact_value *b, int32_t wa, int32_t wb, int8_t *y,
                                           int32_t n)
{
    const uint32_t ua = (uint32_t)wa, ub = (uint32_t)wb;

    for (; n > 0; n -= 4) {
        uint32_t even = a[0] * ua + b[0] * ub, odd = a[1] * ua + b[1] * ub;

        if (r->up == 0) {
            even += r->half;
            odd += r->half;
        } else {
            even = nncc_resize_half(even, r);
            odd = nncc_resize_half(odd, r);
        }
        nncc_resize_store(y, (nncc_resize_odd(even) | (odd & 0xff00ff00u)) ^ 0x80808080u, n);
        a += 2;
        b += 2;
        y += 4;
    }
}

#endif

void nncc_resize_linear_s8(const nncc_resize_linear_s8_params *p, const int8_t *x, const int16_t *rows,
                           const int16_t *cols, void *scratch, int8_t *y)
{
    NNCC_RESIZE_LINEAR(nncc_resize_exact);
}
