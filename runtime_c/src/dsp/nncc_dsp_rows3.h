/*
 * nncc_dsp_rows3.h: two rows of a 3x3 depthwise convolution, one channel after the other.
 *
 * A word holds the same column of two rows. With rows r0..r3 in the pairs P and Q, the upper output takes
 * P * (w0, w1) + r2 * w2 and the lower one r1 * w0 + Q * (w1, w2): 6 instructions of 12 MACs with the weights of the column
 * in two registers. Two columns at a time are 4 LDRD, 24 SMLAxy/SMLAD and, with requantisation and stores, 62 instructions
 * for 36 MACs: per MAC 0.28 words loaded, 0.67 MACs, 0.11 stores, 0.7 others.
 */
#ifndef NNCC_DSP_ROWS3_H
#define NNCC_DSP_ROWS3_H

#include "nncc_dsp_core.h"

#if NNCC_DSP_ASM

/* One column of inputs (r2, r3) for the upper output a and the lower one b. */
#define NNCC_COLUMN(a, b, w01, w12)                                                                     \
    "smlad " a ", r2, " w01 ", " a "\n smlabt " a ", r3, " w12 ", " a "\n"                              \
    "smlatb " b ", r2, " w01 ", " b "\n smlad " b ", r3, " w12 ", " b "\n"
/* r0, r1, r2 are m, c, s. */
#define NNCC_OUTPUT(a) "add r3, r1, " a ", asr #31\n smmlar " a ", " a ", r0, r3\n asr " a ", " a ", r2\n ssat " a ", #8, " a "\n"

/* Frame: 0 x, 4 y, 8 w, 12 step, 16 down, 20 channels left, 24 columns, 32 x and y of the loop, 40 start m c s, 56 end. */
#define NNCC_ROWS3(P, Q)                                                                                \
    ".syntax unified\n"                                                                                 \
    "push {r4-r11, lr}\n sub sp, #60\n"                                                                 \
    "ldm r0, {r4, r5, r6}\n strd r1, r3, [sp]\n str r2, [sp, #8]\n strd r5, r6, [sp, #12]\n"            \
    "movs r5, #4\n strd r5, r4, [sp, #20]\n"                                                            \
    "1:\n"                                                                                              \
    "ldr r10, [sp, #8]\n ldr r12, [sp, #24]\n add r11, sp, #40\n"                                       \
    "ldm r10!, {r4-r9}\n ldm r10!, {r0-r3}\n str r10, [sp, #8]\n stm r11, {r0-r3}\n"                    \
    "ldrd r0, r1, [sp]\n lsrs r12, r12, #1\n add r2, r0, r12, lsl #6\n str r2, [sp, #56]\n beq 3f\n"    \
    "2:\n"                                                                                              \
    "ldr r10, [sp, #40]\n ldrd " P ", " Q ", [r0], #32\n"                                               \
    "mov r11, r10\n mov r12, r10\n mov lr, r10\n"                                                       \
    NNCC_COLUMN("r10", "r11", "r4", "r5")                                                               \
    "ldrd " P ", " Q ", [r0], #32\n"                                                                    \
    NNCC_COLUMN("r10", "r11", "r6", "r7") NNCC_COLUMN("r12", "lr", "r4", "r5")                          \
    "ldrd " P ", " Q ", [r0]\n"                                                                         \
    NNCC_COLUMN("r10", "r11", "r8", "r9") NNCC_COLUMN("r12", "lr", "r6", "r7")                          \
    "ldrd " P ", " Q ", [r0, #32]\n"                                                                    \
    NNCC_COLUMN("r12", "lr", "r8", "r9")                                                                \
    "strd r0, r1, [sp, #32]\n ldrd r0, r1, [sp, #44]\n ldr r2, [sp, #52]\n"                             \
    NNCC_OUTPUT("r10") NNCC_OUTPUT("r11") NNCC_OUTPUT("r12") NNCC_OUTPUT("lr")                          \
    "ldrd r0, r1, [sp, #32]\n ldrd r2, r3, [sp, #12]\n"                                                 \
    "strb r11, [r1, r3]\n strb r10, [r1]\n add r1, r1, r2\n"                                            \
    "strb lr, [r1, r3]\n strb r12, [r1]\n add r1, r1, r2\n"                                             \
    "ldr r2, [sp, #56]\n cmp r0, r2\n bne 2b\n"                                                         \
    "3:\n"                                                                                              \
    "ldr r2, [sp, #24]\n lsls r2, r2, #31\n beq 4f\n" /* an odd last column */                          \
    "ldr r10, [sp, #40]\n ldrd " P ", " Q ", [r0]\n mov r11, r10\n"                                     \
    NNCC_COLUMN("r10", "r11", "r4", "r5")                                                               \
    "ldrd " P ", " Q ", [r0, #32]\n" NNCC_COLUMN("r10", "r11", "r6", "r7")                              \
    "ldrd " P ", " Q ", [r0, #64]\n" NNCC_COLUMN("r10", "r11", "r8", "r9")                              \
    "mov r12, r1\n ldrd r0, r1, [sp, #44]\n ldr r2, [sp, #52]\n"                                        \
    NNCC_OUTPUT("r10") NNCC_OUTPUT("r11")                                                               \
    "ldr r3, [sp, #16]\n strb r11, [r12, r3]\n strb r10, [r12]\n"                                       \
    "4:\n"                                                                                              \
    "ldrd r0, r1, [sp]\n ldr r2, [sp, #20]\n adds r0, #8\n adds r1, #1\n strd r0, r1, [sp]\n"           \
    "subs r2, #1\n str r2, [sp, #20]\n bne.w 1b\n"                                                      \
    "add sp, #60\n pop {r4-r11, pc}\n"

#else

static inline void nncc_dsp_rows3(const nncc_dsp_rows3_params *p, const int32_t *x, int32_t odd, const int32_t *w, int8_t *y)
{
    for (int32_t c = 0; c < 4; c++) {
        for (int32_t i = 0; i < p->columns; i++) {
            int32_t upper = w[6], lower = w[6];

            for (int32_t k = 0; k < 3; k++) {
                const int32_t first = x[8 * (i + k) + 2 * c + odd], second = x[8 * (i + k) + 2 * c + 1 - odd];

                upper += nncc_dsp_lo(first) * nncc_dsp_lo(w[2 * k]) + nncc_dsp_hi(first) * nncc_dsp_hi(w[2 * k]) +
                         nncc_dsp_lo(second) * nncc_dsp_hi(w[2 * k + 1]);
                lower += nncc_dsp_hi(first) * nncc_dsp_lo(w[2 * k]) + nncc_dsp_lo(second) * nncc_dsp_lo(w[2 * k + 1]) +
                         nncc_dsp_hi(second) * nncc_dsp_hi(w[2 * k + 1]);
            }
            y[i * p->step + c + p->down] = nncc_dsp_clamp(nncc_dsp_scale(lower, w + 7, 1) + 128, 0x80u, 0);
            y[i * p->step + c] = nncc_dsp_clamp(nncc_dsp_scale(upper, w + 7, 1) + 128, 0x80u, 0);
        }
        w += 10;
    }
}

#endif

#endif /* NNCC_DSP_ROWS3_H */
