/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_matmul_by4_s16.h: the body of nncc_helium_matmul_by4_*_s16. A file defines NNCC_BY4_VECTORS (1 to 3,
 * whole vectors of a row), NNCC_BY4_MORE (1: one more input behind them) and NNCC_BY4_RELU (1: negative results are 0).
 */
#ifndef NNCC_HELIUM_MATMUL_BY4_S16_H
#define NNCC_HELIUM_MATMUL_BY4_S16_H

#include "nncc_helium_matmul_s16.h"

/* What blocks of four rows by two channels share; the assembly has the offsets. */
typedef struct
{
    int32_t bias[2];    /* 0 */
    int32_t mult[2];    /* 8 */
    int32_t last[2];    /* 16: the weights of the input behind the vectors */
    int32_t pitch4;     /* 24: bytes of four rows of outputs */
    const int8_t *end;  /* 28: the first row that is not computed */
    uint32_t places[4]; /* 32: of the outputs of a block, two in a word */
    int32_t inputs[4];  /* 48: from behind a block to the last inputs of its rows */
    int16_t spare[16];  /* 64: weights that give way to the last inputs */
    int32_t step;       /* 96 */
} nncc_by4_frame;

#if NNCC_HELIUM_ASM

/* Weights of both channels for vector 0, 1, 2: q2 to q7. */
#define NNCC_BY4_ROW1(q, a, b) "vldrh.16 " q ",[%[x]]\nvmladav.s16 " a ",q2," q "\nvmladav.s16 " b ",q3," q "\n"
#define NNCC_BY4_ROW2(q, a, b) \
    NNCC_BY4_ROW1(q, a, b) "vldrh.16 " q ",[%[x],#16]\nvmladava.s16 " a ",q4," q "\nvmladava.s16 " b ",q5," q "\n"
#define NNCC_BY4_ROW3(q, a, b) \
    NNCC_BY4_ROW2(q, a, b) "vldrh.16 " q ",[%[x],#32]\nvmladava.s16 " a ",q6," q "\nvmladava.s16 " b ",q7," q "\n"

#define NNCC_BY4_LOAD1 "vldrb.s16 q2,[%[w]]\nvldrb.s16 q3,[%[w],#8]\n"
#define NNCC_BY4_LOAD2 NNCC_BY4_LOAD1 "vldrb.s16 q4,[%[w],#32]\nvldrb.s16 q5,[%[w],#40]\n"
#define NNCC_BY4_LOAD3 NNCC_BY4_LOAD2 "vldrb.s16 q6,[%[w],#64]\nvldrb.s16 q7,[%[w],#72]\n"

/* Weights of the last inputs in r0 and r2, those inputs in a vector. */
#define NNCC_BY4_LAST(q) "ldrd r0,r2,[%[f],#16]\nvmla.s32 q0," q ",r0\nvmla.s32 q1," q ",r2\n"
#define NNCC_BY4_PLACES(q) "vldrw.32 " q ",[%[f],#32]\n"

#if NNCC_BY4_VECTORS == 1
#define NNCC_BY4_ROW NNCC_BY4_ROW1
#define NNCC_BY4_LOAD NNCC_BY4_LOAD1
#elif NNCC_BY4_VECTORS == 2
#define NNCC_BY4_ROW NNCC_BY4_ROW2
#define NNCC_BY4_LOAD NNCC_BY4_LOAD2
#else
#define NNCC_BY4_ROW NNCC_BY4_ROW3
#define NNCC_BY4_LOAD NNCC_BY4_LOAD3
#endif

/* Up to two vectors leave q6 and q7 for places; three leave q1 when its sums are stored in q0. */
#if NNCC_BY4_VECTORS < 3 && NNCC_BY4_MORE
#define NNCC_BY4_BEFORE "vldrw.32 q6,[%[f],#48]\n"
#define NNCC_BY4_REST "vldrh.s32 q7,[%[x],q6]\n" NNCC_BY4_LAST("q7") NNCC_BY4_PLACES("q7")
#define NNCC_BY4_AFTER
#define NNCC_BY4_TO "q7"
#elif NNCC_BY4_VECTORS < 3
#define NNCC_BY4_BEFORE NNCC_BY4_PLACES("q7")
#define NNCC_BY4_REST
#define NNCC_BY4_AFTER
#define NNCC_BY4_TO "q7"
#elif NNCC_BY4_MORE
#define NNCC_BY4_BEFORE "vstrw.32 q6,[%[f],#64]\nvstrw.32 q7,[%[f],#80]\n"
#define NNCC_BY4_REST \
    "vldrw.32 q7,[%[f],#48]\nvldrh.s32 q6,[%[x],q7]\n" NNCC_BY4_LAST( \
        "q6") "vldrw.32 q6,[%[f],#64]\nvldrw.32 q7,[%[f],#80]\n"
#define NNCC_BY4_AFTER NNCC_BY4_PLACES("q1")
#define NNCC_BY4_TO "q1"
#else
#define NNCC_BY4_BEFORE
#define NNCC_BY4_REST
#define NNCC_BY4_AFTER NNCC_BY4_PLACES("q1")
#define NNCC_BY4_TO "q1"
#endif

/* A multiplier of 15 bits stands shifted by 16 to the left in its record: the shift to the right loses nothing. */
#define NNCC_BY4_NUMBERS \
    "ldrd r0,r2,[%[head]]\nldrd r4,r6,[%[head],#16]\nldrd r8,r10,[%[head],#32]\nrsb r8,r8,#0\nrsb r10,r10,#0\n" \
    "asr r4,r4,r8\nasr r6,r6,r10\nstrd r0,r2,[%[f]]\nstrd r4,r6,[%[f],#8]\n"
#if !NNCC_BY4_MORE
#define NNCC_BY4_BEHIND
#elif NNCC_BY4_VECTORS == 1
#define NNCC_BY4_BEHIND "ldrsb r0,[%[w],#32]\nldrsb r2,[%[w],#40]\nstrd r0,r2,[%[f],#16]\n"
#elif NNCC_BY4_VECTORS == 2
#define NNCC_BY4_BEHIND "ldrsb r0,[%[w],#64]\nldrsb r2,[%[w],#72]\nstrd r0,r2,[%[f],#16]\n"
#else
#define NNCC_BY4_BEHIND "ldrsb r0,[%[w],#96]\nldrsb r2,[%[w],#104]\nstrd r0,r2,[%[f],#16]\n"
#endif

#if NNCC_BY4_RELU
#define NNCC_BY4_CLAMP "vqshlu.s16 q0,q0,#0\n"
#else
#define NNCC_BY4_CLAMP
#endif

static void nncc_by4_blocks(nncc_by4_frame *f, const int8_t *x, const int8_t *head, const int8_t *weights, int8_t *y)
{
    NNCC_REG(const int8_t *, from, "r1", x);
    NNCC_REG(const int8_t *, w, "r3", weights);
    NNCC_REG(int8_t *, to, "r5", y);
    NNCC_REG(const int8_t *, numbers, "r9", head);
    NNCC_REG(nncc_by4_frame *, frame, "r11", f);

    /* clang-format off */
    __asm volatile(NNCC_BY4_NUMBERS
                   NNCC_BY4_BEHIND
                   NNCC_BY4_LOAD
                   "ldr r9,[%[f],#96]\n"
                   NNCC_BY4_BEFORE
                   "1:\n"
                   NNCC_BY4_ROW("q0", "r0", "r2")
                   "add %[x],%[x],r9\n"
                   NNCC_BY4_ROW("q1", "r4", "r6")
                   "add %[x],%[x],r9\n"
                   NNCC_BY4_ROW("q0", "r8", "r10")
                   "add %[x],%[x],r9\n"
                   NNCC_BY4_ROW("q1", "r12", "lr")
                   "add %[x],%[x],r9\n"
                   "vmov q0[2],q0[0],r0,r8\nvmov q1[2],q1[0],r2,r10\nvmov q0[3],q0[1],r4,r12\nvmov q1[3],q1[1],r6,lr\n"
                   NNCC_BY4_REST
                   "ldrd r4,r6,[%[f]]\n"
                   "ldrd r8,r10,[%[f],#8]\n"
                   "vadd.i32 q0,q0,r4\n"
                   "vadd.i32 q1,q1,r6\n"
                   "vqrdmulh.s32 q0,q0,r8\n"
                   "vqrdmulh.s32 q1,q1,r10\n"
                   "ldrd r0,r2,[%[f],#24]\n"
                   "vqmovnb.s32 q0,q0\n"
                   "vqmovnt.s32 q0,q1\n"
                   NNCC_BY4_CLAMP
                   NNCC_BY4_AFTER
                   "vstrh.16 q0,[%[y]," NNCC_BY4_TO "]\n"
                   "add %[y],%[y],r0\n"
                   "cmp %[x],r2\n"
                   "bne 1b\n"
                   : [x] "+r"(from), [y] "+r"(to), [head] "+r"(numbers)
                   : [w] "r"(w), [f] "r"(frame)
                   : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7",
                     "cc", "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

/* What blocks of two channels have of their own, from where their numbers begin in a record. */
static inline void nncc_by4_channels(nncc_by4_frame *f, const int8_t *head, const int8_t *w)
{
    int32_t i;

    for (i = 0; i < 2; i++) {
        int32_t shift;

        memcpy(&f->bias[i], head + 4 * i, 4);
        memcpy(&f->mult[i], head + 16 + 4 * i, 4);
        memcpy(&shift, head + 32 + 4 * i, 4);
        f->mult[i] >>= -shift; /* of a multiplier of 15 bits, shifted by 16: nothing is lost */
        if (NNCC_BY4_MORE) {
            f->last[i] = w[NNCC_RECORD16_VECTOR * NNCC_BY4_VECTORS + 8 * i];
        }
    }
}

#define NNCC_BY4_WEIGHTS(k) vldrbq_s16(w + NNCC_RECORD16_VECTOR * (k))
/* The sums of both channels for a row, which is left behind. */
#define NNCC_BY4_ROW(a, b) \
    do { \
        int16x8_t u = nncc_inputs16(x); \
\
        a = vmladavq_s16(w00, u), b = vmladavq_s16(w01, u); \
        if (NNCC_BY4_VECTORS > 1) { \
            u = nncc_inputs16(x + NNCC_HELIUM_BYTES); \
            a = vmladavaq_s16(a, w10, u), b = vmladavaq_s16(b, w11, u); \
        } \
        if (NNCC_BY4_VECTORS > 2) { \
            u = nncc_inputs16(x + 2 * NNCC_HELIUM_BYTES); \
            a = vmladavaq_s16(a, w20, u), b = vmladavaq_s16(b, w21, u); \
        } \
        x += step; \
    } while (0)

static inline void nncc_by4_blocks(nncc_by4_frame *f, const int8_t *x, const int8_t *head, const int8_t *w, int8_t *y)
{
    const int32_t step = f->step, pitch4 = f->pitch4;
    const int8_t *const end = f->end;
    const int16x8_t w00 = NNCC_BY4_WEIGHTS(0), w01 = vldrbq_s16(w + 8);
    const int16x8_t w10 = NNCC_BY4_VECTORS > 1 ? NNCC_BY4_WEIGHTS(1) : w00;
    const int16x8_t w11 = NNCC_BY4_VECTORS > 1 ? vldrbq_s16(w + NNCC_RECORD16_VECTOR + 8) : w01;
    const int16x8_t w20 = NNCC_BY4_VECTORS > 2 ? NNCC_BY4_WEIGHTS(2) : w00;
    const int16x8_t w21 = NNCC_BY4_VECTORS > 2 ? vldrbq_s16(w + 2 * NNCC_RECORD16_VECTOR + 8) : w01;
    const int16x8_t none = vdupq_n_s16(0);

    nncc_by4_channels(f, head, w);
    (void)w10, (void)w11, (void)w20, (void)w21;
    do {
        int32_t a0, a1, a2, a3, b0, b1, b2, b3;
        int32x4_t a, b;
        int16x8_t both;

        NNCC_BY4_ROW(a0, b0);
        NNCC_BY4_ROW(a1, b1);
        NNCC_BY4_ROW(a2, b2);
        NNCC_BY4_ROW(a3, b3);
        a = nncc_four(a0, a1, a2, a3);
        b = nncc_four(b0, b1, b2, b3);
        if (NNCC_BY4_MORE) {
            const int32x4_t u = vldrhq_gather_offset_s32((const int16_t *)(const void *)x,
                                                         vreinterpretq_u32_s32(vldrwq_s32(f->inputs)));

            a = vmlaq_n_s32(a, u, f->last[0]);
            b = vmlaq_n_s32(b, u, f->last[1]);
        }
        a = vqrdmulhq_n_s32(vaddq_n_s32(a, f->bias[0]), f->mult[0]);
        b = vqrdmulhq_n_s32(vaddq_n_s32(b, f->bias[1]), f->mult[1]);
        both = vqmovntq_s32(vqmovnbq_s32(none, a), b);
        if (NNCC_BY4_RELU) {
            both = vmaxq_s16(both, none);
        }
        vstrhq_scatter_offset_s16((int16_t *)(void *)y, vreinterpretq_u16_u32(vldrwq_u32(f->places)), both);
        y += pitch4;
    } while (x != end);
}

#endif

#if NNCC_HELIUM_MVE

/* The longest way from a row of outputs to the next that places in 16 bits allow. */
#define NNCC_BY4_PITCH 21844

/* All channels over blocks of four rows. */
static void nncc_by4_records(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                             int32_t rows)
{
    const int32_t pitch = p->pitch, step = p->step, channels = p->channels, bytes = nncc_record16_bytes(p->vectors);
    const int32_t behind = NNCC_HELIUM_BYTES * NNCC_BY4_VECTORS;
    /* Places in words: that of channel 0 below that of channel 1. */
    const uint32_t each = (uint32_t)pitch * 0x10001u;
    nncc_by4_frame f;
    int32_t c;

    f.pitch4 = 4 * pitch;
    f.end = x + rows * step;
    f.step = step;
    for (c = 0; c < 4; c++) {
        f.places[c] = (uint32_t)c * each + 0x20000u;
        if (NNCC_BY4_MORE) {
            f.inputs[c] = behind - (4 - c) * step;
        }
    }
    for (c = 0; c < channels; c += 4) {
        int8_t *to = y + 2 * (c + 4 <= channels ? c : channels - 4);
        int32_t i;

        /* The last record's first two channels may all be in the one before. */
        for (i = c + 2 < channels ? 0 : 2; i < 4; i += 2) {
            nncc_by4_blocks(&f, x, packed + 4 * i, packed + NNCC_RECORD16_HEAD + 8 * i, to + 2 * i);
        }
        packed += bytes;
    }
}

#endif

/* All channels over all rows: blocks of four rows by two channels, rows that are left by themselves. */
static inline void nncc_by4_rows(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                                 int32_t rows)
{
    int32_t done = 0;

#if NNCC_HELIUM_MVE
    const int32_t whole = NNCC_BY4_MORE ? rows : rows - p->single;

    if (whole >= 4 && p->pitch <= NNCC_BY4_PITCH) {
        done = whole & ~3;
        nncc_by4_records(p, x, packed, y, done);
    }
#endif
    if (rows > done) {
        nncc_helium_matmul_1row_s16(p, x + done * p->step, packed, y + done * p->pitch, rows - done);
    }
}

#endif /* NNCC_HELIUM_MATMUL_BY4_S16_H */
