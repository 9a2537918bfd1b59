/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_record.h: records of packed weights (nncc_helium.h), what becomes of their sums, and the portable use of
 * one. An including file defines NNCC_RECORD_W4, 1 for weights of 4 bits, and NNCC_RECORD_S16, 1 for inputs and results
 * of 16 bits.
 */
#include "nncc_helium_core.h"

/* Bytes of bias, multipliers and shifts in front of the weights of a record, and of an input or a result. */
#define NNCC_RECORD_HEAD 48
#define NNCC_RECORD_ELEM (1 + NNCC_RECORD_S16)
/* Inputs of a vector, and bytes of the weights of 4 channels for those. */
#define NNCC_RECORD_INPUTS (NNCC_HELIUM_BYTES / NNCC_RECORD_ELEM)
#define NNCC_RECORD_VECTOR (4 * NNCC_RECORD_INPUTS / (1 + NNCC_RECORD_W4))

static inline int32_t nncc_record_bytes(int32_t vectors)
{
    return NNCC_RECORD_HEAD + NNCC_RECORD_VECTOR * vectors;
}

#if NNCC_HELIUM_ASM

/*
 * Sums with their bias in q as results: multipliers in q6, shifts in q7, clamp in q3 and q4, t free.
 */
/* clang-format off */
#if NNCC_RECORD_S16
#define NNCC_RECORD_RESULTS(q, round, t, zero) \
    "vqdmulh.s32 " #q "," #q ",q6\nvrshl.s32 " #q "," #q ",q7\n" \
    "vmax.s32 " #q "," #q ",q3\nvmin.s32 " #q "," #q ",q4\n"
#else
#define NNCC_RECORD_RESULTS(q, round, t, zero) \
    "vqrdmulh.s32 " #q "," #q ",q6\n" \
    round(q, t) \
    "vrshl.s32 " #q "," #q ",q7\nvadd.i32 " #q "," #q "," zero "\n" \
    "vmax.s32 " #q "," #q ",q3\nvmin.s32 " #q "," #q ",q4\n"
#endif
/* clang-format on */

#elif NNCC_HELIUM_MVE

/* The head of a record, and the clamp of p or of a frame. */
#define NNCC_RECORD_NUMBERS(p, record) \
    const int32x4_t bias = nncc_words(record), mult = nncc_words((record) + 16), shift = nncc_words((record) + 32); \
    const int32x4_t lo = vdupq_n_s32((p)->act_min), hi = vdupq_n_s32((p)->act_max)

#if NNCC_RECORD_S16
typedef int16x8_t nncc_record_vector;
#define NNCC_RECORD_MUL(sum, q, x) vmladavq_s16(q, x)
#define NNCC_RECORD_MLA(sum, q, x) vmladavaq_s16(sum, q, x)
#define NNCC_RECORD_W(w) vldrbq_s16(w)
#define NNCC_RECORD_X(x) nncc_inputs16(x)
#define NNCC_RECORD_REST(x, n) vldrhq_z_s16((const int16_t *)(const void *)(x), vctp16q((uint32_t)(n) / 2))
/* Four sums as results, to y. */
#define NNCC_RECORD_PUT(v, round, zero, y) \
    do { \
        v = vqdmulhq_s32(vaddq_s32(v, bias), mult); \
        v = vminq_s32(vmaxq_s32(vrshlq_s32(v, shift), lo), hi); \
        vstrhq_s32((int16_t *)(void *)(y), v); \
    } while (0)
#else
typedef int8x16_t nncc_record_vector;
#define NNCC_RECORD_MUL(sum, q, x) vmladavq_s8(q, x)
#define NNCC_RECORD_MLA(sum, q, x) vmladavaq_s8(sum, q, x)
#define NNCC_RECORD_W(w) nncc_weights(w)
#define NNCC_RECORD_X(x) vldrbq_s8(x)
#define NNCC_RECORD_REST(x, n) vldrbq_z_s8(x, vctp8q((uint32_t)(n)))
#define NNCC_RECORD_PUT(v, round, zero, y) \
    do { \
        v = vqrdmulhq_s32(vaddq_s32(v, bias), mult); \
        v = vaddq_n_s32(vrshlq_s32(round(v), shift), zero); \
        vstrbq_s32(y, vminq_s32(vmaxq_s32(v, lo), hi)); \
    } while (0)
#endif

/* Four sums from accumulators: with weights of 4 bits even ones are 16 times their sums, odd ones have those added. */
#if NNCC_RECORD_W4
#define NNCC_RECORD_SUMS(a, b, c, d) vshrq_n_s32(nncc_four(a, (b) - ((a) >> 4), c, (d) - ((c) >> 4)), 4)
#else
#define NNCC_RECORD_SUMS(a, b, c, d) nncc_four(a, b, c, d)
#endif

#else

/* The product of input i and its weight of channel c. */
static inline int32_t nncc_record_product(const int8_t *x, const int8_t *w, int32_t c, int32_t i)
{
    const int8_t *v = w + i / NNCC_RECORD_INPUTS * NNCC_RECORD_VECTOR + i % NNCC_RECORD_INPUTS;
#if NNCC_RECORD_W4
    const int32_t two = v[c / 2 * NNCC_RECORD_INPUTS], even = (two & 15) - ((two & 8) << 1);

    return x[i] * (c % 2 == 0 ? even : (two - even) / 16);
#elif NNCC_RECORD_S16
    return nncc_input16(x, i) * v[c * NNCC_RECORD_INPUTS];
#else
    return x[i] * v[c * NNCC_RECORD_INPUTS];
#endif
}

/* 4 output channels of one row of n inputs, which the results may lie over. */
static inline void nncc_record_row(const nncc_helium_matmul_params *p, const int8_t *x, int32_t n, const int8_t *record,
                                   int8_t *y)
{
    int32_t head[NNCC_RECORD_HEAD / 4];
    int8_t four[4 * NNCC_RECORD_ELEM];

    memcpy(head, record, sizeof head);
    for (int32_t c = 0; c < 4; c++) {
        uint32_t acc = (uint32_t)head[c];

        for (int32_t i = 0; i < n; i++) {
            acc += (uint32_t)nncc_record_product(x, record + NNCC_RECORD_HEAD, c, i);
        }
#if NNCC_RECORD_S16
        nncc_result16(nncc_rounded16((int32_t)acc, head[4 + c], -head[8 + c]), p->act_min, p->act_max, four + 2 * c);
#else
        four[c] = nncc_rq_s8(acc, head[4 + c], head[8 + c], p->zero, p->act_min, p->act_max);
#endif
    }
    memcpy(y, four, sizeof four);
}

#endif
