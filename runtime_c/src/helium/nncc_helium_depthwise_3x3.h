/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_depthwise_3x3.h: what becomes of the sums of nncc_helium_depthwise_3x3*_s8. An including file defines
 * NNCC_3X3_ROUND (NNCC_ROUND_ALL or NNCC_ROUND_RELU), NNCC_3X3_RELU, 1 where act_min is the zero point, and
 * NNCC_3X3_UPPER, 1 where results are the upper halves of words (nncc_helium.h), and NNCC_3X3_BELOW, 1 where something
 * is added to those below 0 then.
 */
#include "nncc_helium_copy.h"

#if NNCC_HELIUM_ASM

/*
 * Words in q4 to q7 into the bytes 0, 2, 1, 3 of q4's lanes, clamped: a frame has the lower limits at 16, the upper
 * ones at 32. Below the zero point nothing survives where that is the lower limit, so saturation to unsigned values is
 * half of it.
 */
#if NNCC_3X3_RELU
#define NNCC_3X3_NARROW(zero) \
    "vqmovunb.s32 q4, q4\nvqmovunb.s32 q6, q6\nvqmovunt.s32 q4, q5\nvqmovunt.s32 q6, q7\nvldrb.8 q1, [%[f], #32]\n" \
    "vqmovnb.u16 q4, q4\nvqmovnt.u16 q4, q6\nvmin.u8 q4, q4, q1\nvadd.i8 q4, q4, " zero "\n"
#else
#define NNCC_3X3_NARROW(zero) \
    "vqmovnb.s32 q4, q4\nvqmovnb.s32 q6, q6\nvqmovnt.s32 q4, q5\nvqmovnt.s32 q6, q7\nvldrb.8 q0, [%[f], #16]\n" \
    "vqadd.s16 q4, q4, " zero "\nvqadd.s16 q6, q6, " zero "\nvldrb.8 q1, [%[f], #32]\n" \
    "vqmovnb.s16 q4, q4\nvqmovnt.s16 q4, q6\nvmax.s8 q4, q4, q0\nvmin.s8 q4, q4, q1\n"
#endif

#elif NNCC_HELIUM_MVE

/* Sums by the numbers at w, which has the biases, the multipliers and the shifts `next` bytes apart. */
#if NNCC_3X3_BELOW
#define NNCC_3X3_SCALED(v, w, next, scale, offset) nncc_3x3_scaled(v, w, scale, offset)
static inline int32x4_t nncc_3x3_scaled(int32x4_t v, const int8_t *w, int32_t scale, int32_t offset)
{
    v = vmlaq_n_s32(nncc_words(w), v, scale);
    v = NNCC_ADD_BELOW(v, nncc_words(w + 128));
    return vqrdmlashq_n_s32(v, nncc_words(w + 64), offset);
}
#elif NNCC_3X3_UPPER
#define NNCC_3X3_SCALED(v, w, next, scale, offset) \
    vqrdmlashq_n_s32(vmlaq_n_s32(nncc_words(w), v, scale), nncc_words((w) + (next)), offset)
#else
#define NNCC_3X3_SCALED(v, w, next, scale, offset) nncc_3x3_scaled(v, w, next)
static inline int32x4_t nncc_3x3_scaled(int32x4_t v, const int8_t *w, int32_t next)
{
    v = vqrdmulhq_s32(vaddq_s32(v, nncc_words(w)), nncc_words(w + next));
    return vrshlq_s32(NNCC_3X3_ROUND(v), nncc_words(w + 2 * next));
}
#endif

/* Two vectors of words in the halves of their lanes. */
static inline int16x8_t nncc_3x3_halves(int32x4_t even, int32x4_t odd, int32_t zero)
{
#if NNCC_3X3_UPPER
    (void)zero;
    return vreinterpretq_s16_s32(vsriq_n_s32(odd, even, 16));
#elif NNCC_3X3_RELU
    (void)zero;
    return vreinterpretq_s16_u16(vqmovuntq_s32(vqmovunbq_s32(vreinterpretq_u16_s32(even), even), odd));
#else
    return vqaddq_n_s16(vqmovntq_s32(vqmovnbq_s32(vreinterpretq_s16_s32(even), even), odd), (int16_t)zero);
#endif
}

/* The words a, b, c, d of a lane in its bytes 0, 2, 1, 3, clamped. */
static inline int8x16_t nncc_3x3_bytes(const uint8_t *lo, const uint8_t *hi, int32_t zero, int32x4_t a, int32x4_t b,
                                       int32x4_t c, int32x4_t d)
{
    const int16x8_t upper = nncc_3x3_halves(a, b, zero), lower = nncc_3x3_halves(c, d, zero);
#if NNCC_3X3_UPPER
    (void)lo, (void)hi;
    /* All bytes are results; a is a vector that GCC need not copy. */
    return vqrshrntq_n_s16(vqrshrnbq_n_s16(vreinterpretq_s8_s32(a), upper, 1), lower, 1);
#elif NNCC_3X3_RELU
    uint8x16_t v = vqmovnbq_u16(vreinterpretq_u8_s16(upper), vreinterpretq_u16_s16(upper));

    (void)lo;
    v = vminq_u8(vqmovntq_u16(v, vreinterpretq_u16_s16(lower)), vldrbq_u8(hi));
    return vreinterpretq_s8_u8(vaddq_n_u8(v, (uint8_t)zero));
#else
    int8x16_t v = vqmovntq_s16(vqmovnbq_s16(vreinterpretq_s8_s16(upper), upper), lower);

    v = vmaxq_s8(v, vreinterpretq_s8_u8(vldrbq_u8(lo)));
    return vminq_s8(v, vreinterpretq_s8_u8(vldrbq_u8(hi)));
#endif
}

#endif
