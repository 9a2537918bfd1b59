/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_helium_matmul_s16.h: records of the kernels nncc_helium_matmul_*_s16, and what becomes of their sums. */
#ifndef NNCC_HELIUM_MATMUL_S16_H
#define NNCC_HELIUM_MATMUL_S16_H

#include "nncc_helium_core.h"

/* Bytes of bias, multipliers and shifts in front of the weights of a record, and of those for a vector of 8 inputs. */
#define NNCC_RECORD16_HEAD 48
#define NNCC_RECORD16_VECTOR 32

static inline int32_t nncc_record16_bytes(int32_t vectors)
{
    return NNCC_RECORD16_HEAD + NNCC_RECORD16_VECTOR * vectors;
}

#if NNCC_HELIUM_ASM

/* Sums in q, bias in q5, multipliers in q6, shifts in q7, clamp in q3 and q4. */
#define NNCC_DOT16_OUTPUT(q) \
    "vadd.i32 " #q "," #q ",q5\nvqdmulh.s32 " #q "," #q ",q6\nvrshl.s32 " #q "," #q ",q7\nvmax.s32 " #q "," #q \
    ",q3\nvmin.s32 " #q "," #q ",q4\n"

#elif NNCC_HELIUM_MVE

/* Four sums as int16 results of the record, to y. */
#define NNCC_DOT16_HEAD(p, record) \
    const int32x4_t bias = nncc_words(record), mult = nncc_words((record) + 16), shift = nncc_words((record) + 32); \
    const int32x4_t lo = vdupq_n_s32((p)->act_min), hi = vdupq_n_s32((p)->act_max)
#define NNCC_DOT16_OUTPUT(v, y) \
    do { \
        int32x4_t r = vqdmulhq_s32(vaddq_s32(v, bias), mult); \
\
        r = vminq_s32(vmaxq_s32(vrshlq_s32(r, shift), lo), hi); \
        vstrhq_s32((int16_t *)(void *)(y), r); \
    } while (0)

/* Eight inputs; rows begin at any multiple of two bytes. */
static inline int16x8_t nncc_inputs16(const int8_t *x)
{
    return vldrhq_s16((const int16_t *)(const void *)x);
}

#else

/* sum * m / 2^(31 + shift), rounded once. */
static inline int32_t nncc_rounded16(int32_t sum, int32_t m, int32_t shift)
{
    return (int32_t)(((((int64_t)sum * m) >> 31) + ((int64_t)1 << (shift - 1))) >> shift);
}

/* 4 output channels of one row of n inputs. */
static inline void nncc_record16_row(const nncc_helium_matmul_params *p, const int8_t *x, int32_t n,
                                     const int8_t *record, int8_t *y)
{
    const int8_t *w = record + NNCC_RECORD16_HEAD;
    int32_t head[NNCC_RECORD16_HEAD / 4];
    int16_t out[4];
    int32_t c;
    int32_t i;

    memcpy(head, record, sizeof head);
    for (c = 0; c < 4; c++) {
        uint32_t acc = (uint32_t)head[c];
        int32_t v;

        for (i = 0; i < n; i++) {
            int16_t a;

            memcpy(&a, x + 2 * i, sizeof a);
            acc += (uint32_t)(a * w[i / 8 * NNCC_RECORD16_VECTOR + 8 * c + i % 8]);
        }
        v = nncc_rounded16((int32_t)acc, head[4 + c], -head[8 + c]);
        v = v < p->act_min ? p->act_min : v;
        out[c] = (int16_t)(v > p->act_max ? p->act_max : v);
    }
    memcpy(y, out, sizeof out);
}

#endif

#endif /* NNCC_HELIUM_MATMUL_S16_H */
