/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_pairs.h: what the depthwise kernels share that read quads: the words of two inputs of four
 * channels, 256 times as large, so that SMLAD adds two products of a channel. nncc_dsp_depthwise_pairs*_s8 multiplies
 * the window of one output after the other by them; requantisation is that of nncc_dsp_depthwise_3x3_s8.
 */
#include "nncc_dsp_depthwise_3x3.h"

#if NNCC_DSP_ASM

/* A quad of inputs at r0 times the weights at r1 for the sums r2 to r5: 24 bytes. */
#define NNCC_PAIRS_QUAD \
    "ldm r0!, {r6, r7, r8, r9}\n ldm r1!, {r10, r11, r12, lr}\n" \
    "smlad r2, r6, r10, r2\n smlad r3, r7, r11, r3\n smlad r4, r8, r12, r4\n smlad r5, r9, lr, r5\n"

/* The four bytes of r2 to y at r8: side by side, or lr bytes apart. */
#define NNCC_PAIRS_WORD "str r2, [r8]\n"
#define NNCC_PAIRS_BYTES \
    "strb r2, [r8]\n lsr r3, r2, #8\n add r4, r8, lr\n strb r3, [r4]\n lsr r3, r2, #16\n" \
    "strb r3, [r8, lr, lsl #1]\n lsr r3, r2, #24\n strb r3, [r4, lr, lsl #1]\n"

/* The function. It copies its parameters to a frame; the loop of eight quads is entered where a row has fewer. */
#define NNCC_PAIRS(STORE) \
    ".syntax unified\n" \
    "push {r4-r11, lr}\n sub sp, #40\n" \
    "ldm r0, {r1-r10}\n rsb r3, r3, #8\n movs r11, #24\n adr r12, 2f\n mla r3, r3, r11, r12\n orr r3, r3, #1\n" \
    "stm sp, {r1-r10}\n mov r0, r4\n mov r1, r9\n mov r6, r3\n" \
    "1:\n" \
    "ldm r1!, {r2, r3, r4, r5}\n bx r6\n" \
    ".p2align 2\n" \
    "2:\n" \
    ".rept 8\n" NNCC_PAIRS_QUAD ".endr\n" \
    "ldm sp, {r6, r7, r8}\n add r0, r0, r6\n cmp r1, r7\n it ne\n bxne r8\n" NNCC_ROWS_FOUR \
    "ldm sp, {r3, r4, r6, r7, r8, r9, r10, r11, r12, lr}\n" STORE \
    "add r0, r7, r9\n add r8, r8, r10\n strd r0, r8, [sp, #12]\n mov r1, r12\n cmp r8, r11\n bne.w 1b\n" \
    "add sp, #40\n pop {r4-r11, pc}\n"

#else

#define NNCC_PAIRS_WORD 1
#define NNCC_PAIRS_BYTES f->times

/* A quad for one output. */
#define NNCC_PAIRS_QUAD(k) \
    do { \
        int64_t in = nncc_dsp_load_whole(from + 4 * (k)), by = nncc_dsp_load_whole(w + 4 * (k)); \
\
        s0 = NNCC_SMLAD((int32_t)in, (int32_t)by, s0); \
        s1 = NNCC_SMLAD((int32_t)(in >> 32), (int32_t)(by >> 32), s1); \
        in = nncc_dsp_load_whole(from + 4 * (k) + 2); \
        by = nncc_dsp_load_whole(w + 4 * (k) + 2); \
        s2 = NNCC_SMLAD((int32_t)in, (int32_t)by, s2); \
        s3 = NNCC_SMLAD((int32_t)(in >> 32), (int32_t)(by >> 32), s3); \
    } while (0)

/*
 * Two channels of two outputs, s and t, whose windows lie a quad of x apart: all quads but the first and the last one
 * are multiplied for both. Quads lie p words apart and begin at word o of inputs and q of weights. v and u are the
 * words of weights of this quad and of the one before. LDRD of x and of weights and four SMLAD are as many instructions
 * for four products of two as LDM makes them.
 */
#define NNCC_PAIRS_S(o, q, v) \
    NNCC_DSP_LOAD_BOTH(from + (o), x0, x1); \
    NNCC_DSP_LOAD_BOTH(w + (q), v##0, v##1); \
    s0 = NNCC_SMLAD(x0, v##0, s0); \
    s1 = NNCC_SMLAD(x1, v##1, s1)
#define NNCC_PAIRS_T(u) \
    t0 = NNCC_SMLAD(x0, u##0, t0); \
    t1 = NNCC_SMLAD(x1, u##1, t1)
#define NNCC_PAIRS_END(o, u) \
    do { \
        const int64_t both = nncc_dsp_load_whole(from + (o)); \
\
        t0 = NNCC_SMLAD((int32_t)both, u##0, t0); \
        t1 = NNCC_SMLAD((int32_t)(both >> 32), u##1, t1); \
    } while (0)
#define NNCC_PAIRS_ST(o, q, v, u) \
    NNCC_PAIRS_S(o, q, v); \
    NNCC_PAIRS_T(u)
/* To the next row of quads. */
#define NNCC_PAIRS_DOWN(bytes) (from = (const int32_t *)((uintptr_t)from + (uintptr_t)(int32_t)(bytes)))
/* Rows of quads, `taps` of which have weights. */
#define NNCC_PAIRS_ROWS(taps, QUADS) \
    NNCC_DSP_ROLLED do \
    { \
        QUADS; \
        NNCC_PAIRS_DOWN(skip); \
        w += 4 * (taps); \
    } \
    while (w != a->end)

/* Two channels of two outputs become bytes from -128 on. */
#define NNCC_PAIRS_TWO_BYTES(s) (int32_t)((NNCC_ROWS_BYTE(s##0, 0) | (NNCC_ROWS_BYTE(s##1, 1) << 8)) ^ 0x80808080u)

/* Kinds of loops over two outputs: the quads of a row, and what they are besides. */
#define NNCC_PAIRS_FURTHER 16 /* the windows of two outputs lie two quads apart */
#define NNCC_PAIRS_ONE_ROW 32
#define NNCC_PAIRS_TWO_ROWS 64

/* Those of two outputs whose windows lie two quads apart are even quads, then odd ones; of others there are no odd. */
#define NNCC_PAIRS_KIND(even, odd) ((odd) != 0 ? NNCC_PAIRS_FURTHER + (even) + (odd) : (even))
#define NNCC_PAIRS_0(o, q, p)
#define NNCC_PAIRS_QUADS(q, even, odd) \
    NNCC_PAIRS_##even(0, q, (odd) != 0 ? 8 : 4); \
    NNCC_PAIRS_##odd(4, (q) + 4, 8)
/* Any number of rows, one row, and two. */
#define NNCC_PAIRS_LOOP(even, odd) \
    case NNCC_PAIRS_KIND(even, odd): \
        NNCC_PAIRS_ROWS((even) + (odd), NNCC_PAIRS_QUADS(4, even, odd)); \
        break;
#define NNCC_PAIRS_ONE(even, odd) \
    case NNCC_PAIRS_ONE_ROW + NNCC_PAIRS_KIND(even, odd): \
        NNCC_PAIRS_QUADS(4, even, odd); \
        break;
#define NNCC_PAIRS_BOTH(even, odd) \
    NNCC_PAIRS_QUADS(4, even, odd); \
    NNCC_PAIRS_DOWN(skip); \
    NNCC_PAIRS_QUADS(4 + 4 * ((even) + (odd)), even, odd)
#define NNCC_PAIRS_TWO(even, odd) \
    case NNCC_PAIRS_TWO_ROWS + NNCC_PAIRS_KIND(even, odd): \
        NNCC_PAIRS_BOTH(even, odd); \
        break;

/* What the loops want once for two outputs, on the stack. */
typedef struct
{
    const int32_t *start, *end; /* of weights; end: in front of the last row's */
    const int8_t *last;         /* behind the outputs */
    uint32_t next;              /* bytes from the last row of quads to the first one of the next two outputs */
    int32_t pixel;
} nncc_dsp_pairs_frame;

/* Two channels of an even number of outputs. */
NNCC_INLINED void nncc_dsp_pairs_by_two(const volatile nncc_dsp_pairs_frame *a, int32_t kind, uint32_t skip,
                                        const int32_t *from, int32_t apart, int8_t *y)
{
    const int32_t words = (kind / NNCC_PAIRS_ONE_ROW) * 4 * (kind & 15); /* of weights, where no loop moves w on */

    NNCC_DSP_ROLLED do
    {
        const int32_t *w = a->start;
        int32_t s0, s1, t0, t1, x0, x1, u0, u1, v0, v1, p;

        NNCC_DSP_LOAD_BOTH(w, s0, s1);
        t0 = s0;
        t1 = s1;
        switch (kind) {
            NNCC_PAIRS_KINDS(NNCC_PAIRS_LOOP, NNCC_PAIRS_ONE, NNCC_PAIRS_TWO)
        default: /* two rows of 3 */
            NNCC_PAIRS_BOTH(3, 0);
            break;
        }
        NNCC_PAIRS_DOWN(a->next);
        NNCC_ROWS_LOAD_SCALES(w + 4 + words);
        t0 = NNCC_PAIRS_TWO_BYTES(t);
        s0 = NNCC_PAIRS_TWO_BYTES(s);
        p = a->pixel;
        if (apart == 1) {
            const uint16_t u = (uint16_t)s0, v = (uint16_t)t0;

            memcpy(y, &u, sizeof u);
            memcpy(y + p, &v, sizeof v);
        } else {
            y[0] = nncc_dsp_byte(s0);
            y[apart] = nncc_dsp_byte(s0 >> 8);
            y[p] = nncc_dsp_byte(t0);
            y[p + apart] = nncc_dsp_byte(t0 >> 8);
        }
        y += 2 * p;
    }
    while (y != a->last)
        ;
}

/* The quad that is so many before the end of a row, and those behind it. */
#define NNCC_PAIRS_TAP(k) \
    case k: \
        NNCC_PAIRS_QUAD(-(k)); \
        __attribute__((fallthrough))

/*
 * Outputs one by one, four channels of each, from x on: a function by itself has the registers. The pointers are at the
 * end of a row, so that its quads are entered where there are fewer than 8.
 */
NNCC_DSP_AS_WRITTEN NNCC_APART static void one_by_one(const volatile nncc_dsp_pairs_frame *a, int32_t taps,
                                                      uint32_t skip, const int32_t *x, int32_t apart, int8_t *y)
{
    const uint32_t words = 16u * (uint32_t)taps;
    const int32_t *from = x + 4 * taps;

    NNCC_DSP_ROLLED do
    {
        const int32_t *w = a->start;
        int32_t s0, s1, s2, s3, x0, x1, v0, v1;
#if !NNCC_ROWS_RELU
        int32_t u0, u1;
#endif
        uint32_t v;

        NNCC_DSP_LOAD_BOTH(w, s0, s1);
        NNCC_DSP_LOAD_BOTH(w + 2, s2, s3);
        w += 4;
        NNCC_DSP_ROLLED do
        {
            w = (const int32_t *)((uintptr_t)w + words);
            switch (taps) {
                NNCC_PAIRS_TAP(8);
                NNCC_PAIRS_TAP(7);
                NNCC_PAIRS_TAP(6);
                NNCC_PAIRS_TAP(5);
                NNCC_PAIRS_TAP(4);
                NNCC_PAIRS_TAP(3);
                NNCC_PAIRS_TAP(2);
            default:
                NNCC_PAIRS_QUAD(-1);
                break;
            }
            NNCC_PAIRS_DOWN(skip);
        }
        while (w != a->end)
            ;
        NNCC_PAIRS_DOWN(a->next);
        NNCC_ROWS_LOAD_SCALES(w);
        v = NNCC_ROWS_BYTE(s0, 0) | (NNCC_ROWS_BYTE(s1, 1) << 8);
        NNCC_ROWS_LOAD_SCALES(w + 2);
        v = (v | ((NNCC_ROWS_BYTE(s2, 0) | (NNCC_ROWS_BYTE(s3, 1) << 8)) << 16)) ^ 0x80808080u;
        if (apart == 1) {
            nncc_dsp_store4(y, v);
        } else {
            y[0] = (int8_t)(uint8_t)v;
            y[apart] = (int8_t)(uint8_t)(v >> 8);
            y[2 * apart] = (int8_t)(uint8_t)(v >> 16);
            y[3 * apart] = (int8_t)(uint8_t)(v >> 24);
        }
        y += a->pixel;
    }
    while (y != a->last)
        ;
}

/* How two outputs are computed side by side; 0: not. words: of weights. */
static inline int32_t nncc_dsp_pairs_kind(int32_t step, int32_t taps, int32_t words)
{
    if (step == 16) {
        if (words == 4 * taps && taps > 1 && taps < 7) {
            return NNCC_PAIRS_ONE_ROW + taps;
        }
        return words == 8 * taps && (taps == 2 || taps == 3) ? NNCC_PAIRS_TWO_ROWS + taps : taps;
    }
    if (step != 32) {
        return 0;
    }
    switch (taps) {
    case 2:
        return words == 8 ? NNCC_PAIRS_ONE_ROW + NNCC_PAIRS_FURTHER + 2 : 0;
    case 4:
        return words == 32 ? NNCC_PAIRS_TWO_ROWS + NNCC_PAIRS_FURTHER + 4 : NNCC_PAIRS_FURTHER + 4;
    case 3:
    case 5:
    case 7:
        return NNCC_PAIRS_FURTHER + taps;
    default:
        return 0;
    }
}

/* A loop for each kind. */
#define NNCC_PAIRS_CALL(kind) \
    case kind: \
        nncc_dsp_pairs_by_two(a, kind, skip, from, apart, y); \
        break;
#define NNCC_PAIRS_CALL_LOOP(even, odd) NNCC_PAIRS_CALL(NNCC_PAIRS_KIND(even, odd))
#define NNCC_PAIRS_CALL_ONE(even, odd) NNCC_PAIRS_CALL(NNCC_PAIRS_ONE_ROW + NNCC_PAIRS_KIND(even, odd))
#define NNCC_PAIRS_CALL_TWO(even, odd) NNCC_PAIRS_CALL(NNCC_PAIRS_TWO_ROWS + NNCC_PAIRS_KIND(even, odd))

/* The same, whatever kind: a function by itself has the registers. */
NNCC_DSP_AS_WRITTEN NNCC_APART static void two_channels(const volatile nncc_dsp_pairs_frame *a, int32_t kind,
                                                        uint32_t skip, const int32_t *from, int32_t apart, int8_t *y)
{
    switch (kind) {
        NNCC_PAIRS_KINDS(NNCC_PAIRS_CALL_LOOP, NNCC_PAIRS_CALL_ONE, NNCC_PAIRS_CALL_TWO)
    default:
        nncc_dsp_pairs_by_two(a, NNCC_PAIRS_TWO_ROWS + 3, skip, from, apart, y);
        break;
    }
}

/* Outputs of a pixel `apart` bytes apart. */
NNCC_INLINED void nncc_dsp_pairs(const nncc_dsp_depthwise_pairs *f, int32_t apart)
{
    const int32_t pixel = f->pixel, outputs = (int32_t)(f->end - f->y) / pixel, taps = f->taps;
    const int32_t words = (int32_t)(f->w_end - f->w) - 4, rows = words / (4 * taps), step = f->step;
    const int32_t kind = nncc_dsp_pairs_kind(step, taps, words), first = kind != 0 ? outputs & -2 : 0;
    const uint32_t skip = 16u * (uint32_t)taps + (uint32_t)f->skip;
    volatile nncc_dsp_pairs_frame a;

    a.pixel = pixel;
    if (first != 0) {
        a.next = 2u * (uint32_t)step - (uint32_t)(kind < NNCC_PAIRS_ONE_ROW ? rows : rows - 1) * skip;
        NNCC_DSP_ROLLED for (int32_t h = 0; h < 4; h += 2)
        {
            int8_t *const y = f->y + h * apart;

            a.start = f->w + h;
            a.end = f->w_end - 4 + h;
            a.last = y + first * pixel;
            two_channels(&a, kind, skip, f->x + h, apart, y);
        }
    }
    if (first != outputs) {
        a.start = f->w;
        a.end = f->w_end;
        a.last = f->end;
        a.next = (uint32_t)step - (uint32_t)rows * skip;
        one_by_one(&a, taps, skip, f->x + first * (step / 4), apart, f->y + first * pixel);
    }
}

#endif
