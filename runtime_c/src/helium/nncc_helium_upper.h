/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_upper.h: records of the kernels nncc_helium_matmul_*_upper_s8 (nncc_helium.h). An including file defines
 * NNCC_UPPER_RELU, 1 where the output's zero point is -128.
 */
#ifndef NNCC_HELIUM_UPPER_H
#define NNCC_HELIUM_UPPER_H

#include "nncc_helium_copy.h"

/* Bytes in front of the weights of a record, and where its two scalars are. */
#if NNCC_UPPER_RELU
#define NNCC_UPPER_HEAD 48
#else
#define NNCC_UPPER_HEAD 64
#endif
#define NNCC_UPPER_SCALARS (NNCC_UPPER_HEAD - 16)

#if NNCC_HELIUM_ASM

/* What negative sums have besides is in q7. */
#if NNCC_UPPER_RELU
#define NNCC_UPPER_SIGN(q) ""
#else
#define NNCC_UPPER_SIGN(q) "vpt.s32 lt, " #q ",zr\nvaddt.i32 " #q "," #q ",q7\n"
#endif
/* Lanes 0 to 3 of q0 and q1 from the accumulators of row 0 and row 1. */
#define NNCC_UPPER_LANES \
    "vmov q0[2],q0[0],r0,r4\nvmov q0[3],q0[1],r2,r6\nvmov q1[2],q1[0],r8,r12\nvmov q1[3],q1[1],r10,lr\n"
/*
 * The results of row 0 into the bytes 0 of q0's lanes, those of row 1 into the bytes 0 of q1's. The bias is at `bias`,
 * the scale in r0, the offset in r2, multipliers are in q5; others stand between vector instructions of one pipe.
 */
#define NNCC_UPPER_RESULTS(bias, other0, other1, other2, other3) \
    "vldrw.32 q2," bias "\nvmla.s32 q2,q0,r0\nvldrw.32 q0," bias "\n" NNCC_UPPER_SIGN(q2) "vmla.s32 q0,q1,r0\n" other0 \
    NNCC_UPPER_SIGN(q0) "vqrdmlash.s32 q2,q5,r2\n" other1 "vqrdmlash.s32 q0,q5,r2\nvsri.32 q0,q2,#16\n" other2 \
                        "vqrshrnb.s16 q0,q0,#1\n" other3 "vshr.u32 q1,q0,#16\n"

#elif NNCC_HELIUM_MVE

#if NNCC_UPPER_RELU
#define NNCC_UPPER_SIGN(v, below) (v)
#else
#define NNCC_UPPER_SIGN(v, below) NNCC_ADD_BELOW(v, nncc_words(below))
#endif
/* Vectors of both rows, at in0 and in1, with the weights of 4 channels. */
#define NNCC_UPPER_VECTOR(op, weights, in0, in1) \
    do { \
        const int8x16_t u = vldrbq_s8(in0), v = vldrbq_s8(in1); \
        int8x16_t q = nncc_weights(weights); \
\
        a0 = op(a0, q, u), b0 = op(b0, q, v); \
        q = nncc_weights((weights) + 16); \
        a1 = op(a1, q, u), b1 = op(b1, q, v); \
        q = nncc_weights((weights) + 32); \
        a2 = op(a2, q, u), b2 = op(b2, q, v); \
        q = nncc_weights((weights) + 48); \
        a3 = op(a3, q, u), b3 = op(b3, q, v); \
    } while (0)
/* The results of row 0 in the bytes 0 of lanes, those of row 1 in the bytes 2; a record's head, and sums of both. */
#define NNCC_UPPER_ROWS(head, a, b) nncc_upper_results(head, a, b, scale, offset)
static inline int32x4_t nncc_upper_results(const int8_t *head, int32x4_t a, int32x4_t b, int32_t scale, int32_t offset)
{
    const int32x4_t bias = nncc_words(head), mult = nncc_words(head + 16);

    a = vmlaq_n_s32(bias, a, scale);
    b = vmlaq_n_s32(bias, b, scale);
    a = NNCC_UPPER_SIGN(a, head + 32);
    b = NNCC_UPPER_SIGN(b, head + 32);
    b = vsriq_n_s32(vqrdmlashq_n_s32(b, mult, offset), vqrdmlashq_n_s32(a, mult, offset), 16);
    /* The bytes between are not stored: GCC would copy b to keep its own there. */
    return vreinterpretq_s32_s8(vqrshrnbq_n_s16(vreinterpretq_s8_s32(mult), vreinterpretq_s16_s32(b), 1));
}

#else

/* 4 output channels of one row. Bytes behind a row meet weights of zero. */
static inline void nncc_upper_row(const int8_t *x, int32_t depth, const int8_t *record, int8_t *y)
{
    const int8_t *w = record + NNCC_UPPER_HEAD;
    const int32_t scalars = NNCC_UPPER_SCALARS / 4;
    int32_t head[NNCC_UPPER_HEAD / 4];
    int32_t c;
    int32_t i;

    memcpy(head, record, sizeof head);
    for (c = 0; c < 4; c++) {
        int32_t acc = 0;

        for (i = 0; i < depth; i++) {
            acc += x[i] * w[64 * (i / NNCC_HELIUM_BYTES) + NNCC_HELIUM_BYTES * c + i % NNCC_HELIUM_BYTES];
        }
        y[c] = nncc_upper_s8(acc, head[scalars], head[c], NNCC_UPPER_RELU ? 0 : head[8 + c], head[4 + c],
                             head[scalars + 1]);
    }
}

#endif

#endif /* NNCC_HELIUM_UPPER_H */
