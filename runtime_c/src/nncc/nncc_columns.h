/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_columns.h: sums of bytes, the inner loops of means. */
#include <stdint.h>
#include <string.h>

#include "nncc_isa.h"
#include "nncc_mve.h"

/* Columns that are summed up at once. */
#define NNCC_COLUMNS 8

/* Rows whose sum fits 16 bits. */
#define NNCC_COLUMN_ROWS 255

#if NNCC_MVE && NNCC_ASM

/* The sums of n columns of rows, `pitch` apart: of 1 to 8, and at most NNCC_COLUMN_ROWS rows. */
static inline int16x8_t nncc_columns_sum(const int8_t *x, int32_t rows, int32_t pitch, int32_t n)
{
    int16x8_t sum;

    __asm volatile("vctp.16 %[n]\n\t"
                   "vmov.i32 %q[sum], #0\n\t"
                   "dls lr, %[rows]\n"
                   "1:\n\t"
                   "vpst\n\t"
                   "vldrbt.s16 q1, [%[x]]\n\t"
                   "add %[x], %[x], %[pitch]\n\t"
                   "vadd.i16 %q[sum], %q[sum], q1\n\t"
                   "le lr, 1b\n\t"
                   : [x] "+l"(x), [sum] "=&w"(sum)
                   : [n] "r"(n), [rows] "r"(rows), [pitch] "r"(pitch)
                   : "q1", "lr", "cc", "memory");
    return sum;
}

/* The sum of n bytes in a row. */
static inline int32_t nncc_bytes_sum(const int8_t *x, int32_t n)
{
    register int32_t sum __asm("r0") = 0;

    __asm volatile("wlstp.8 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[x]], #16\n\t"
                   "vaddva.s8 %[sum], q0\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [x] "+l"(x), [sum] "+r"(sum)
                   : [n] "r"(n)
                   : "q0", "lr", "cc", "memory");
    return sum;
}

#elif NNCC_MVE_C

#define NNCC_COLUMNS_ROW(what) \
    for (; rows > 0; rows--) { \
        part = vaddq_s16(part, NNCC_GET8##what(x)); \
        x += pitch; \
    }

static inline int16x8_t nncc_columns_sum(const int8_t *x, int32_t rows, int32_t pitch, int32_t n)
{
    const mve_pred16_t rest = vctp16q((uint32_t)n);
    int16x8_t part = vdupq_n_s16(0);

    if (n >= NNCC_COLUMNS) {
        NNCC_COLUMNS_ROW()
    } else {
        NNCC_COLUMNS_ROW(_REST)
    }
    return part;
}

#define NNCC_BYTES_SUM(what, sum) \
    do { \
        sum = vaddvaq_s8(sum, NNCC_GET16S##what(x)); \
        x += 16; \
    } while (0)

static inline int32_t nncc_bytes_sum(const int8_t *x, int32_t n)
{
    int32_t sum = 0;

    NNCC_MVE_LOOP(n, 16, vctp8q, NNCC_BYTES_SUM, sum);
    return sum;
}

#endif

#if NNCC_MVE

/* Adds rows of n bytes, `pitch` apart, to the sums of the columns; n is 1 to 8. */
static inline void nncc_columns_add(const int8_t *x, int32_t rows, int32_t pitch, int32_t n, int32_t *sum)
{
    while (rows > 0) {
        const int32_t k = rows < NNCC_COLUMN_ROWS ? rows : NNCC_COLUMN_ROWS;
        int16_t part[NNCC_COLUMNS];

        vstrhq_s16(part, nncc_columns_sum(x, k, pitch, n));
        for (int32_t i = 0; i < n; i++) {
            sum[i] += part[i];
        }
        x += k * pitch;
        rows -= k;
    }
}

#else

static inline void nncc_columns_add(const int8_t *x, int32_t rows, int32_t pitch, int32_t n, int32_t *sum)
{
    int32_t c = 0;

#if NNCC_SIMD32 && NNCC_ASM
    for (; n - c >= 4; c += 4) {
        const int8_t *from = x + c;
        int32_t left = rows;

        while (left > 0) {
            int32_t k = left < NNCC_COLUMN_ROWS ? left : NNCC_COLUMN_ROWS;
            uint32_t even = 0, odd = 0;

            left -= k;
            for (; k > 0; k--) {
                uint32_t w;

                memcpy(&w, from, sizeof w);
                __asm("sxtab16 %0, %0, %1" : "+r"(even) : "r"(w));
                __asm("sxtab16 %0, %0, %1, ror #8" : "+r"(odd) : "r"(w));
                from += pitch;
            }
            sum[c] += (int16_t)even;
            sum[c + 1] += (int16_t)odd;
            sum[c + 2] += (int32_t)even >> 16;
            sum[c + 3] += (int32_t)odd >> 16;
        }
    }
#endif
    for (; c < n; c++) {
        const int8_t *from = x + c;
        int32_t s = 0;

        for (int32_t k = rows; k > 0; k--) {
            s += *from;
            from += pitch;
        }
        sum[c] += s;
    }
}

static inline int32_t nncc_bytes_sum(const int8_t *x, int32_t n)
{
    int32_t sum = 0;

#if NNCC_SIMD32 && NNCC_ASM
    for (; n >= 4; n -= 4) {
        uint32_t w, t;

        memcpy(&w, x, sizeof w);
        __asm("sxtb16 %[t], %[w]\n\tsxtb16 %[w], %[w], ror #8\n\t"
              "smlad %[s], %[t], %[one], %[s]\n\tsmlad %[s], %[w], %[one], %[s]"
              : [s] "+r"(sum), [t] "=&r"(t), [w] "+r"(w)
              : [one] "r"(0x00010001));
        x += 4;
    }
#endif
    for (; n > 0; n--) {
        sum += *x++;
    }
    return sum;
}

#endif
