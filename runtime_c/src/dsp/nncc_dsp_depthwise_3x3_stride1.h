/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_3x3_stride1.h: two rows of a 3x3 depthwise convolution with stride 1, one channel after the other.
 *
 * A word holds the same column of two rows. With rows r0..r3 in the pairs P and Q, the upper output takes
 * P * (w0, w1) + r2 * w2 and the lower one r1 * w0 + Q * (w1, w2): 6 instructions of 12 MACs with the weights of the
 * column in two registers. Two columns at a time are 4 LDRD, 24 SMLAxy/SMLAD and, with requantisation and stores, 47
 * instructions for 36 MACs (58 without Relu): per MAC 0.39 words loaded, 0.67 MACs, 0.11 stores, 0.4 others.
 */
#ifndef NNCC_DSP_DEPTHWISE_3X3_STRIDE1_H
#define NNCC_DSP_DEPTHWISE_3X3_STRIDE1_H

#include "nncc_dsp_depthwise_3x3.h"

#if NNCC_DSP_ASM

/* One column of inputs (r2, r3) for the upper output a and the lower one b, which begin with the values a0 and b0. */
#define NNCC_COLUMN(a, a0, b, b0, w01, w12) \
    "smlad " a ", r2, " w01 ", " a0 "\n smlabt " a ", r3, " w12 ", " a "\n" \
    "smlatb " b ", r2, " w01 ", " b0 "\n smlad " b ", r3, " w12 ", " b "\n"
#define NNCC_MORE(a, b, w01, w12) NNCC_COLUMN(a, a, b, b, w01, w12)

#if NNCC_ROWS_RELU
#define NNCC_WORDS "ldm r10!, {r2, r3, r11}\n strd r2, r3, [sp, #12]\n str r11, [sp, #20]\n"
#define NNCC_TWO(a, b) NNCC_OUTPUT_RELU(a, "r2", "r3") NNCC_OUTPUT_RELU(b, "r2", "r3")
#define NNCC_SCALE(outputs) "ldrd r2, r3, [sp, #16]\n" outputs
#else
#define NNCC_WORDS "ldm r10!, {r2, r3, r11, r12}\n strd r2, r3, [sp, #12]\n strd r11, r12, [sp, #20]\n"
#define NNCC_TWO(a, b) NNCC_OUTPUT(a, "r0", "r1", "r2", "r3") NNCC_OUTPUT(b, "r0", "r1", "r2", "r3")
#define NNCC_SCALE(outputs) \
    "strd r0, r1, [sp, #28]\n ldrd r0, r1, [sp, #16]\n ldr r2, [sp, #24]\n" outputs "ldrd r0, r1, [sp, #28]\n"
#endif

/*
 * Frame: 0 step, 4 down, 8 end of x, 12 start m c d, 28 x and y while they make room, 36 x, 40 y, 44 w, 48 x behind the
 * last channel, 52 bytes of whole pairs of columns, 56 an odd last column. lr is the start value in front of columns.
 */
/* clang-format off */
#define NNCC_ROWS3(P, Q) \
    ".syntax unified\n" \
    "push {r4-r11, lr}\n sub sp, #60\n" \
    "ldm r0, {r4, r5, r6}\n strd r5, r6, [sp]\n add r5, r1, #32\n strd r2, r5, [sp, #44]\n" \
    "lsrs r5, r4, #1\n lsl r5, r5, #6\n and r6, r4, #1\n strd r5, r6, [sp, #52]\n" \
    "strd r1, r3, [sp, #36]\n" \
    "1:\n" \
    "ldr r10, [sp, #44]\n ldm r10!, {r4-r9}\n" \
    NNCC_WORDS \
    "str r10, [sp, #44]\n" \
    "ldrd r0, r1, [sp, #36]\n ldr r2, [sp, #52]\n add r2, r0, r2\n str r2, [sp, #8]\n ldr lr, [sp, #12]\n" \
    "2:\n" \
    "ldrd " P ", " Q ", [r0], #32\n" \
    NNCC_COLUMN("r10", "lr", "r11", "lr", "r4", "r5") \
    "ldrd " P ", " Q ", [r0], #32\n" \
    NNCC_MORE("r10", "r11", "r6", "r7") \
    NNCC_COLUMN("r12", "lr", "lr", "lr", "r4", "r5") \
    "ldrd " P ", " Q ", [r0]\n" \
    NNCC_MORE("r10", "r11", "r8", "r9") NNCC_MORE("r12", "lr", "r6", "r7") \
    "ldrd " P ", " Q ", [r0, #32]\n" \
    NNCC_MORE("r12", "lr", "r8", "r9") \
    NNCC_SCALE(NNCC_TWO("r10", "r11") NNCC_TWO("r12", "lr")) \
    "ldrd r2, r3, [sp]\n" \
    "strb r11, [r1, r3]\n strb r10, [r1]\n add r1, r1, r2\n" \
    "strb lr, [r1, r3]\n strb r12, [r1]\n add r1, r1, r2\n" \
    "ldrd r2, lr, [sp, #8]\n cmp r0, r2\n bne 2b\n" \
    "ldr r2, [sp, #56]\n cbz r2, 4f\n" \
    "ldrd " P ", " Q ", [r0]\n" \
    NNCC_COLUMN("r10", "lr", "r11", "lr", "r4", "r5") \
    "ldrd " P ", " Q ", [r0, #32]\n" \
    NNCC_MORE("r10", "r11", "r6", "r7") \
    "ldrd " P ", " Q ", [r0, #64]\n" \
    NNCC_MORE("r10", "r11", "r8", "r9") \
    NNCC_SCALE(NNCC_TWO("r10", "r11")) \
    "ldr r3, [sp, #4]\n strb r11, [r1, r3]\n strb r10, [r1]\n" \
    "4:\n" \
    "ldrd r0, r1, [sp, #36]\n ldr r2, [sp, #48]\n adds r0, #8\n adds r1, #1\n" \
    "strd r0, r1, [sp, #36]\n" \
    "cmp r0, r2\n bne.w 1b\n" \
    "add sp, #60\n pop {r4-r11, pc}\n"
/* clang-format on */

/* The function's body: the upper pair of rows is the first word of each two (even) or the second one (odd). */
#define NNCC_ROWS3_EVEN __asm volatile(NNCC_ROWS3("r2", "r3"))
#define NNCC_ROWS3_ODD __asm volatile(NNCC_ROWS3("r3", "r2"))

#else

/* A column of inputs for the upper output u and the lower one l. */
#define NNCC_COLUMN(u, l, w01, w12) \
    do { \
        u = NNCC_SMLAD(first, w01, u); \
        u = NNCC_SMLABT(second, w12, u); \
        l = NNCC_SMLATB(first, w01, l); \
        l = NNCC_SMLAD(second, w12, l); \
    } while (0)
#define NNCC_LOAD(k) \
    do { \
        const int64_t two = nncc_dsp_load_two(from + 8 * (k)); \
\
        first = (int32_t)(odd != 0 ? two >> 32 : two); \
        second = (int32_t)(odd != 0 ? two : two >> 32); \
    } while (0)
#define NNCC_STORE(u, l) \
    do { \
        const int32_t k = down; \
\
        to[k] = nncc_dsp_upper_signed(l, m, NNCC_ROWS_C(l, n, d)); \
        *to = nncc_dsp_upper_signed(u, m, NNCC_ROWS_C(u, n, d)); \
    } while (0)
#if NNCC_ROWS_RELU
#define NNCC_SCALES NNCC_DSP_LOAD_BOTH(w + 7, m, n)
#else
#define NNCC_SCALES \
    NNCC_DSP_LOAD_BOTH(w + 7, m, n); \
    d = *(const volatile int32_t *)(w + 9)
#endif

/*
 * Weights and scales are loaded, in pairs, where they are wanted, and what is wanted once is on the stack: registers
 * hold four sums, four words of inputs and weights and the pointers.
 */
NNCC_INLINED void nncc_dsp_two_rows(const nncc_dsp_depthwise_3x3_row_params *p, const int32_t *x, int32_t odd,
                                    const int32_t *w, int8_t *y)
{
    const volatile int32_t down = p->down, step = p->step;
    const int32_t columns = p->columns;

    for (int32_t c = 0; c < 4; c++) {
        const int32_t *from = x + 2 * c, *volatile const end = from + 16 * (columns >> 1);
        int8_t *to = y + c;
        int32_t w0, w1, u0, l0, u1, l1, m, n, d = 0, first, second, next;

        if (columns > 1) {
            do {
                NNCC_DSP_LOAD_BOTH(w, w0, w1);
                u0 = *(const volatile int32_t *)(w + 6);
                l0 = u0;
                u1 = u0;
                l1 = u0;
                NNCC_LOAD(0);
                NNCC_COLUMN(u0, l0, w0, w1);
                NNCC_LOAD(1);
                NNCC_COLUMN(u1, l1, w0, w1);
                NNCC_DSP_LOAD_BOTH(w + 2, w0, w1);
                NNCC_COLUMN(u0, l0, w0, w1);
                NNCC_LOAD(2);
                NNCC_COLUMN(u1, l1, w0, w1);
                NNCC_DSP_LOAD_BOTH(w + 4, w0, w1);
                NNCC_COLUMN(u0, l0, w0, w1);
                NNCC_LOAD(3);
                NNCC_COLUMN(u1, l1, w0, w1);
                from += 16;
                NNCC_SCALES;
                next = step;
                NNCC_STORE(u0, l0);
                to += next;
                NNCC_STORE(u1, l1);
                to += next;
            } while (from != end);
        }
        if ((columns & 1) != 0) {
            NNCC_DSP_LOAD_BOTH(w, w0, w1);
            u0 = w[6];
            l0 = u0;
            NNCC_LOAD(0);
            NNCC_COLUMN(u0, l0, w0, w1);
            NNCC_LOAD(1);
            NNCC_DSP_LOAD_BOTH(w + 2, w0, w1);
            NNCC_COLUMN(u0, l0, w0, w1);
            NNCC_LOAD(2);
            NNCC_DSP_LOAD_BOTH(w + 4, w0, w1);
            NNCC_COLUMN(u0, l0, w0, w1);
            NNCC_SCALES;
            NNCC_STORE(u0, l0);
        }
        w += 10 - NNCC_ROWS_RELU;
    }
}

#define NNCC_ROWS3_EVEN nncc_dsp_two_rows(p, x, 0, w, y)
#define NNCC_ROWS3_ODD nncc_dsp_two_rows(p, x, 1, w, y)

#endif

#endif /* NNCC_DSP_DEPTHWISE_3X3_STRIDE1_H */
