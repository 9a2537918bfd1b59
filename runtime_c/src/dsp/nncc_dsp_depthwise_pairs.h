/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_pairs.h: what the depthwise kernels share that read quads: the words of two inputs of four
 * channels, 256 times as large, so that SMLAD adds two products of a channel. nncc_dsp_depthwise_pairs*_s8 multiplies
 * the window of one output after the other by them; requantisation is that of nncc_dsp_depthwise_3x3_s8.
 *
 * Eight products are 2 LDM and 4 SMLAD: per MAC 1 word loaded and 0.5 MACs. Four outputs have 23 instructions more
 * (31 without relu), and 5 a row of quads.
 */
#ifndef NNCC_DSP_DEPTHWISE_PAIRS_H
#define NNCC_DSP_DEPTHWISE_PAIRS_H

#define NNCC_ROWS_RELU NNCC_PAIRS_RELU
#include "nncc_dsp_depthwise_3x3.h"

#if NNCC_DSP_ASM

/* A quad of inputs at r0 times the weights at r1 for the sums r2 to r5: 24 bytes. */
#define NNCC_PAIRS_QUAD \
    "ldm r0!, {r6, r7, r8, r9}\n ldm r1!, {r10, r11, r12, lr}\n" \
    "smlad r2, r6, r10, r2\n smlad r3, r7, r11, r3\n smlad r4, r8, r12, r4\n smlad r5, r9, lr, r5\n"

#if NNCC_PAIRS_RELU
#define NNCC_PAIRS_SCALES "ldm r1, {r6, r7, r8, r9, r10, r11, r12, lr}\n"
#else
#define NNCC_PAIRS_SCALES \
    "ldm r1!, {r6, r7, r8, r9}\n" \
    "and r6, r6, r2, asr #31\n and r7, r7, r3, asr #31\n and r8, r8, r4, asr #31\n and r9, r9, r5, asr #31\n" \
    "ldm r1!, {r10, r11, r12, lr}\n sub r10, r10, r6\n sub r11, r11, r7\n sub r12, r12, r8\n sub lr, lr, r9\n" \
    "ldm r1, {r6, r7, r8, r9}\n"
#endif

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
    "ldm sp, {r6, r7, r8}\n add r0, r0, r6\n cmp r1, r7\n it ne\n bxne r8\n" NNCC_PAIRS_SCALES \
    "smmla r2, r2, r6, r10\n smmla r3, r3, r7, r11\n smmla r4, r4, r8, r12\n smmla r5, r5, r9, lr\n" \
    "pkhtb r2, r4, r2, asr #16\n pkhtb r3, r5, r3, asr #16\n usat16 r2, #8, r2\n usat16 r3, #8, r3\n" \
    "orr r2, r2, r3, lsl #8\n eor r2, r2, #0x80808080\n" \
    "ldm sp, {r3, r4, r6, r7, r8, r9, r10, r11, r12, lr}\n" STORE \
    "add r0, r7, r9\n add r8, r8, r10\n strd r0, r8, [sp, #12]\n mov r1, r12\n cmp r8, r11\n bne.w 1b\n" \
    "add sp, #40\n pop {r4-r11, pc}\n"

#elif NNCC_DSP_ACLE

#define NNCC_PAIRS_WORD 1
#define NNCC_PAIRS_BYTES f->times

#define NNCC_PAIRS_QUAD(k) \
    do { \
        const int64_t x0 = nncc_dsp_load_two(from + 4 * (k)), w0 = nncc_dsp_load_two(w + 4 * (k)); \
        int64_t x2, w2; \
\
        s0 = __smlad((int32_t)x0, (int32_t)w0, s0); \
        s1 = __smlad((int32_t)(x0 >> 32), (int32_t)(w0 >> 32), s1); \
        x2 = nncc_dsp_load_two(from + 4 * (k) + 2); \
        w2 = nncc_dsp_load_two(w + 4 * (k) + 2); \
        s2 = __smlad((int32_t)x2, (int32_t)w2, s2); \
        s3 = __smlad((int32_t)(x2 >> 32), (int32_t)(w2 >> 32), s3); \
    } while (0)

/* A sum that counts from -128 in the upper half, 0 to 255. */
#if NNCC_PAIRS_RELU
#define NNCC_PAIRS_OUTPUT(s, k) nncc_dsp_upper_byte(s, w[k], w[4 + (k)])
#else
#define NNCC_PAIRS_OUTPUT(s, k) nncc_dsp_upper_byte(s, w[8 + (k)], w[4 + (k)] - (w[k] & ((s) >> 31)))
#endif

/* A quad; a row of so many, and those that follow it. */
#define NNCC_PAIRS_ROWS(QUADS) \
    do { \
        QUADS \
        from = (const int32_t *)((uintptr_t)from + skip); \
        w = (const int32_t *)((uintptr_t)w + words); \
    } while (w != end)

/* Outputs of a pixel `apart` bytes apart. */
NNCC_INLINED void nncc_dsp_pairs(const nncc_dsp_depthwise_pairs *f, int32_t apart)
{
    const uint32_t words = 16u * (uint32_t)f->taps, skip = words + (uint32_t)f->skip;
    const uint32_t step = (uint32_t)f->step;
    const int32_t taps = f->taps, pixel = f->pixel;
    const int32_t *const start = f->w, *const end = f->w_end;
    const int32_t *x = f->x;
    const int8_t *const last = f->end;

    for (int8_t *y = f->y; y != last; y += pixel) {
        const int32_t *from = x, *w = start + 4;
        int32_t s0 = start[0], s1 = start[1], s2 = start[2], s3 = start[3];
        uint32_t v;

        switch (taps) {
        case 2:
            NNCC_PAIRS_ROWS(NNCC_PAIRS_QUAD(0); NNCC_PAIRS_QUAD(1););
            break;
        case 3:
            NNCC_PAIRS_ROWS(NNCC_PAIRS_QUAD(0); NNCC_PAIRS_QUAD(1); NNCC_PAIRS_QUAD(2););
            break;
        case 5:
            NNCC_PAIRS_ROWS(NNCC_PAIRS_QUAD(0); NNCC_PAIRS_QUAD(1); NNCC_PAIRS_QUAD(2); NNCC_PAIRS_QUAD(3);
                            NNCC_PAIRS_QUAD(4););
            break;
        case 7:
            NNCC_PAIRS_ROWS(NNCC_PAIRS_QUAD(0); NNCC_PAIRS_QUAD(1); NNCC_PAIRS_QUAD(2); NNCC_PAIRS_QUAD(3);
                            NNCC_PAIRS_QUAD(4); NNCC_PAIRS_QUAD(5); NNCC_PAIRS_QUAD(6););
            break;
        default:
            do {
                for (int32_t k = taps; k > 0; k--) {
                    NNCC_PAIRS_QUAD(0);
                    from += 4;
                    w += 4;
                }
                from = (const int32_t *)((uintptr_t)from + (skip - words));
            } while (w != end);
            break;
        }
        v = NNCC_PAIRS_OUTPUT(s0, 0) | (NNCC_PAIRS_OUTPUT(s1, 1) << 8);
        v = (v | ((NNCC_PAIRS_OUTPUT(s2, 2) | (NNCC_PAIRS_OUTPUT(s3, 3) << 8)) << 16)) ^ 0x80808080u;
        if (apart == 1) {
            nncc_dsp_store4(y, v);
        } else {
            y[0] = (int8_t)(uint8_t)v;
            y[apart] = (int8_t)(uint8_t)(v >> 8);
            y[2 * apart] = (int8_t)(uint8_t)(v >> 16);
            y[3 * apart] = (int8_t)(uint8_t)(v >> 24);
        }
        x = (const int32_t *)((uintptr_t)x + step);
    }
}

#else

#define NNCC_PAIRS_WORD 1
#define NNCC_PAIRS_BYTES f->times

/* The same; outputs of a pixel `apart` bytes apart. */
static inline void nncc_dsp_pairs(const nncc_dsp_depthwise_pairs *f, int32_t apart)
{
    const int32_t *x = f->x;

    for (int8_t *y = f->y; y != f->end; y += f->pixel) {
        const int32_t *from = x, *w = f->w + 4;
        uint32_t sum[4];

        memcpy(sum, f->w, sizeof sum);
        while (w != f->w_end) {
            for (int32_t k = 0; k < f->taps; k++) {
                for (int32_t c = 0; c < 4; c++) {
                    sum[c] = nncc_dsp_smla(sum[c], nncc_dsp_lo(from[c]), nncc_dsp_lo(w[c]));
                    sum[c] = nncc_dsp_smla(sum[c], nncc_dsp_hi(from[c]), nncc_dsp_hi(w[c]));
                }
                from += 4;
                w += 4;
            }
            from += f->skip / 4;
        }
        for (int32_t c = 0; c < 4; c++) {
#if NNCC_PAIRS_RELU
            const int32_t mcd[3] = {w[c], w[4 + c] - (128 << 16), 0};
#else
            const int32_t mcd[3] = {w[8 + c], w[4 + c] - (128 << 16), w[c]};
#endif

            y[c * apart] = nncc_dsp_upper(sum[c], mcd);
        }
        x += f->step / 4;
    }
}

#endif

#endif /* NNCC_DSP_DEPTHWISE_PAIRS_H */
