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

/* A quad of inputs times weights. */
#define NNCC_PAIRS_QUAD(k) \
    do { \
        NNCC_DSP_LOAD_BOTH(from + 4 * (k), x0, x1); \
        NNCC_DSP_LOAD_BOTH(w + 4 * (k), v0, v1); \
        s0 = NNCC_SMLAD(x0, v0, s0); \
        s1 = NNCC_SMLAD(x1, v1, s1); \
        NNCC_DSP_LOAD_BOTH(from + 4 * (k) + 2, x0, x1); \
        NNCC_DSP_LOAD_BOTH(w + 4 * (k) + 2, v0, v1); \
        s2 = NNCC_SMLAD(x0, v0, s2); \
        s3 = NNCC_SMLAD(x1, v1, s3); \
    } while (0)
#define NNCC_PAIRS_MOVE(k) \
    do { \
        from += 4 * (k); \
        w += 4 * (k); \
    } while (0)

/* Outputs of a pixel `apart` bytes apart. */
NNCC_INLINED void nncc_dsp_pairs(const nncc_dsp_depthwise_pairs *f, int32_t apart)
{
    const int32_t taps = f->taps, *const volatile end = f->w_end;
    const volatile int32_t skip = f->skip / 4;
    const int32_t *x = f->x;

    for (int8_t *y = f->y; y != f->end; y += f->pixel) {
        const int32_t *from = x, *w = f->w + 4;
        int32_t s0 = w[-4], s1 = w[-3], s2 = w[-2], s3 = w[-1], x0, x1, v0, v1;
#if !NNCC_ROWS_RELU
        int32_t u0, u1;
#endif
        uint32_t v;

        do {
            if ((taps & 1) != 0) {
                NNCC_PAIRS_QUAD(0);
                NNCC_PAIRS_MOVE(1);
            }
            NNCC_DSP_ROLLED
            for (int32_t k = taps >> 1; k > 0; k--) {
                NNCC_PAIRS_QUAD(0);
                NNCC_PAIRS_QUAD(1);
                NNCC_PAIRS_MOVE(2);
            }
            from += skip;
        } while (w != end);
        NNCC_ROWS_LOAD_SCALES(w);
        v = NNCC_ROWS_BYTE(s0, 0) | (NNCC_ROWS_BYTE(s1, 1) << 8);
        NNCC_ROWS_LOAD_SCALES(w + 2);
        v = (v | ((NNCC_ROWS_BYTE(s2, 0) | (NNCC_ROWS_BYTE(s3, 1) << 8)) << 16)) ^ 0x80808080u;
        if (apart == 1) {
            nncc_dsp_store4(y, v);
        } else {
            for (int32_t k = 0; k < 4; k++, v >>= 8) {
                y[k * apart] = nncc_dsp_byte((int32_t)v);
            }
        }
        x += f->step / 4;
    }
}

#endif
