/* nncc_helium_widen.h: pixels of 8 channels as 16-bit vectors in scratch. */
#ifndef NNCC_HELIUM_WIDEN_H
#define NNCC_HELIUM_WIDEN_H

#include "nncc_helium_core.h"

/* Channels of a 16-bit vector. */
#define NNCC_HELIUM_LANES 8

/* n vectors of the value v; n may be 0 or less. */
static inline void nncc_widen_fill(int16_t *to, int32_t v, int32_t n)
{
#if NNCC_HELIUM_MVE
    __asm volatile("vdup.16 q0, %[v]\n\t"
                   "wls lr, %[n], 2f\n"
                   "1:\n\t"
                   "vstrh.16 q0, [%[to]], #16\n\t"
                   "le lr, 1b\n"
                   "2:\n\t"
                   : [to] "+r"(to)
                   : [v] "r"(v), [n] "r"(n > 0 ? n : 0)
                   : "q0", "lr", "cc", "memory");
#else
    int32_t i;

    for (i = 0; i < NNCC_HELIUM_LANES * n; i++) {
        to[i] = (int16_t)v;
    }
#endif
}

/* The first `lanes` of 8 channels of n pixels that lie `pitch` bytes apart; further lanes are 0. n is at least 1. */
static inline void nncc_widen(int16_t *to, const int8_t *from, int32_t pitch, int32_t lanes, int32_t n)
{
#if NNCC_HELIUM_MVE
    NNCC_REG(const int8_t *, x, "r0", from); /* a widening load wants one of r0 to r7 */
    NNCC_REG(int16_t *, y, "r1", to);

    if (lanes >= NNCC_HELIUM_LANES) {
        __asm volatile("dls lr, %[n]\n"
                       "1:\n\t"
                       "vldrb.s16 q0, [%[x]]\n\t"
                       "add %[x], %[x], %[pitch]\n\t"
                       "vstrh.16 q0, [%[y]], #16\n\t"
                       "le lr, 1b\n\t"
                       : [y] "+r"(y), [x] "+r"(x)
                       : [pitch] "r"(pitch), [n] "r"(n)
                       : "q0", "lr", "cc", "memory");
    } else {
        __asm volatile("vctp.16 %[lanes]\n\t"
                       "dls lr, %[n]\n"
                       "1:\n\t"
                       "vpst\n\t"
                       "vldrbt.s16 q0, [%[x]]\n\t"
                       "add %[x], %[x], %[pitch]\n\t"
                       "vstrh.16 q0, [%[y]], #16\n\t"
                       "le lr, 1b\n\t"
                       : [y] "+r"(y), [x] "+r"(x)
                       : [pitch] "r"(pitch), [n] "r"(n), [lanes] "r"(lanes)
                       : "q0", "lr", "cc", "memory");
    }
#else
    int32_t c;

    for (; n > 0; n--) {
        for (c = 0; c < NNCC_HELIUM_LANES; c++) {
            to[c] = (int16_t)(c < lanes ? from[c] : 0);
        }
        from += pitch;
        to += NNCC_HELIUM_LANES;
    }
#endif
}

/* The same where lane c is input channel (first + c) / multiplier. */
static inline void nncc_widen_repeat(int16_t *to, const int8_t *from, int32_t pitch, int32_t first, int32_t multiplier,
                                     int32_t lanes, int32_t n)
{
    int32_t i;
    int32_t c;

    for (c = 0; c < NNCC_HELIUM_LANES; c++) {
        int32_t k = (first + c) / multiplier;

        for (i = 0; i < n; i++) {
            to[NNCC_HELIUM_LANES * i + c] = (int16_t)(c < lanes ? from[i * pitch + k] : 0);
        }
    }
}

#endif /* NNCC_HELIUM_WIDEN_H */
