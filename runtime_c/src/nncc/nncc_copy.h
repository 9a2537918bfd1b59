/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_copy.h: copies and fills of bytes, inline: memcpy and memset of libraries are slow for short rows. */
#include <stdint.h>
#include <string.h>

#include "nncc_isa.h"
#include "nncc_mve.h"

#if NNCC_MVE && NNCC_ASM
#define NNCC_COPY_MVE 1
#else
#define NNCC_COPY_MVE 0
#endif

/* Whether words may be read and written at any address. */
#if defined(__ARM_FEATURE_UNALIGNED)
#define NNCC_COPY_WORDS 1
#else
#define NNCC_COPY_WORDS 0
#endif

/* Tensors of any type are moved through unsigned integers of their size. */
#if defined(__GNUC__) || defined(__clang__)
#define NNCC_MAY_ALIAS __attribute__((may_alias))
#else
#define NNCC_MAY_ALIAS
#endif

typedef uint16_t NNCC_MAY_ALIAS nncc_any16;
typedef uint32_t NNCC_MAY_ALIAS nncc_any32;
typedef uint64_t NNCC_MAY_ALIAS nncc_any64;

/* Bytes from which a call of memcpy pays. */
#define NNCC_COPY_LONG 32

/* n bytes, n at least 0; the two do not overlap. */
static inline void nncc_copy(void *y, const void *x, int32_t n)
{
#if NNCC_COPY_MVE
    __asm volatile("wlstp.8 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[x]], #16\n\t"
                   "vstrb.8 q0, [%[y]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [y] "+r"(y), [x] "+r"(x)
                   : [n] "r"(n)
                   : "q0", "lr", "cc", "memory");
#elif NNCC_MVE_C
    uint8_t *to = (uint8_t *)y;
    const uint8_t *from = (const uint8_t *)x;

    NNCC_MVE_LOOP(n, 16, vctp8q, NNCC_MVE_COPY, from);
#elif NNCC_COPY_WORDS
    uint8_t *to = (uint8_t *)y;
    const uint8_t *from = (const uint8_t *)x;

    if (n >= NNCC_COPY_LONG) {
        memcpy(y, x, (size_t)n);
        return;
    }
    for (; n >= 16; n -= 16) {
        uint32_t a, b, c, d;

        memcpy(&a, from, sizeof a);
        memcpy(&b, from + 4, sizeof b);
        memcpy(&c, from + 8, sizeof c);
        memcpy(&d, from + 12, sizeof d);
        memcpy(to, &a, sizeof a);
        memcpy(to + 4, &b, sizeof b);
        memcpy(to + 8, &c, sizeof c);
        memcpy(to + 12, &d, sizeof d);
        from += 16;
        to += 16;
    }
    for (; n >= 4; n -= 4) {
        uint32_t a;

        memcpy(&a, from, sizeof a);
        memcpy(to, &a, sizeof a);
        from += 4;
        to += 4;
    }
    if ((n & 2) != 0) {
        uint16_t a;

        memcpy(&a, from, sizeof a);
        memcpy(to, &a, sizeof a);
        from += 2;
        to += 2;
    }
    if ((n & 1) != 0) {
        *to = *from;
    }
#else
    memcpy(y, x, (size_t)n);
#endif
}

/* n bytes of the value v, n at least 0. */
static inline void nncc_set(void *y, uint8_t v, int32_t n)
{
#if NNCC_COPY_MVE
    __asm volatile("vdup.8 q0, %[v]\n\t"
                   "wlstp.8 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vstrb.8 q0, [%[y]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [y] "+r"(y)
                   : [v] "r"(v), [n] "r"(n)
                   : "q0", "lr", "cc", "memory");
#elif NNCC_MVE_C
    const uint8x16_t w = vdupq_n_u8(v);
    uint8_t *to = (uint8_t *)y;

    NNCC_MVE_LOOP(n, 16, vctp8q, NNCC_MVE_SET, w);
#elif NNCC_COPY_WORDS
    uint8_t *to = (uint8_t *)y;
    const uint32_t w = v * 0x01010101u;

    for (; n >= 16; n -= 16) {
        memcpy(to, &w, sizeof w);
        memcpy(to + 4, &w, sizeof w);
        memcpy(to + 8, &w, sizeof w);
        memcpy(to + 12, &w, sizeof w);
        to += 16;
    }
    for (; n >= 4; n -= 4) {
        memcpy(to, &w, sizeof w);
        to += 4;
    }
    for (; n > 0; n--) {
        *to++ = v;
    }
#else
    memset(y, v, (size_t)n);
#endif
}

/* nncc_set that may write up to three bytes more: for rows one behind the other, which may be short. */
static inline void nncc_set_row(void *y, uint8_t v, int32_t n)
{
#if !NNCC_MVE
    if (n < 16) {
        uint8_t *to = (uint8_t *)y;

        for (; n > 0; n -= 4) {
#if NNCC_COPY_WORDS
            const uint32_t w = v * 0x01010101u;

            memcpy(to, &w, sizeof w);
#else
            to[0] = v;
            to[1] = v;
            to[2] = v;
            to[3] = v;
#endif
            to += 4;
        }
        return;
    }
#endif
    nncc_set(y, v, n);
}

/* n elements of the value v, n at least 0. */
static inline void nncc_set16(void *y, uint16_t v, int32_t n)
{
#if NNCC_COPY_MVE
    __asm volatile("vdup.16 q0, %[v]\n\t"
                   "wlstp.16 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vstrh.16 q0, [%[y]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [y] "+r"(y)
                   : [v] "r"(v), [n] "r"(n)
                   : "q0", "lr", "cc", "memory");
#elif NNCC_MVE_C
    const uint16x8_t w = vdupq_n_u16(v);
    uint16_t *to = (uint16_t *)y;

    for (; n > 0; n -= 8) {
        vstrhq_p_u16(to, w, vctp16q((uint32_t)n));
        to += 8;
    }
#else
    nncc_any16 *to = (nncc_any16 *)y;

    for (; n > 0; n--) {
        *to++ = v;
    }
#endif
}
