/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_channels_s16.h: four pixels of int16 and all output channels. */
#include "nncc_dsp_core.h"

/* Row i, at least 2, of four, of which `count` are wanted, or NULL: the assembly reads all of them.
 */
static inline const int8_t *nncc_dsp_wanted16(int32_t count, int32_t i, const int8_t *row)
{
#if NNCC_DSP_ASM
    (void)count;
    (void)i;
    return row;
#else
    return i < count ? row : NULL;
#endif
}

/* Two inputs at any even address. */
static inline int32_t nncc_dsp_two_inputs(const int8_t *x)
{
#if NNCC_THUMB1
    const int16_t *const half = (const int16_t *)(const void *)x;

    return nncc_dsp_pair(half[0], half[1]);
#else
    return nncc_dsp_load4(x);
#endif
}

#if NNCC_DSP_ASM

/* r4 inputs of the rows at r0 to r3, as words side by side at r5; changes r0 to r9. Or of three rows. */
#define NNCC_PAIR16 "ldr r6, [r0], #4\n ldr r7, [r1], #4\n ldr r8, [r2], #4\n ldr r9, [r3], #4\n stm r5!, {r6-r9}\n"
#define NNCC_LAST16 "ldrh r6, [r0]\n ldrh r7, [r1]\n ldrh r8, [r2]\n ldrh r9, [r3]\n stm r5!, {r6-r9}\n"
#define NNCC_PAIR16_3 "ldr r6, [r0], #4\n ldr r7, [r1], #4\n ldr r8, [r2], #4\n stm r5!, {r6-r8}\n"
#define NNCC_LAST16_3 "ldrh r6, [r0]\n ldrh r7, [r1]\n ldrh r8, [r2]\n stm r5!, {r6-r8}\n"
#define NNCC_SIDE16_OF(pair, last) \
    "subs r4, r4, #8\n blt 52f\n" \
    "51:\n" pair pair pair pair "subs r4, r4, #8\n bge 51b\n" \
    "52:\n adds r4, r4, #6\n blt 54f\n" \
    "53:\n" pair "subs r4, r4, #2\n bge 53b\n" \
    "54:\n adds r4, r4, #1\n bne 55f\n" last "55:\n"
#define NNCC_DSP_SIDE16 NNCC_SIDE16_OF(NNCC_PAIR16, NNCC_LAST16)
#define NNCC_DSP_SIDE16_3 NNCC_SIDE16_OF(NNCC_PAIR16_3, NNCC_LAST16_3)
/* The next row of lines: r11 is where it is, r6 from one to the next, r12 rows left in the line, r9 those of a line,
 * r10 what is behind it. */
#define NNCC_DSP_NEXT16(r) \
    "mov " #r ", r11\n add r11, r11, r6\n subs r12, r12, #1\n" \
    "itt eq\n addeq r11, r11, r10\n moveq r12, r9\n"

#else

/* Where so many rows of lines are; returns where the next one is. */
static inline const int8_t *nncc_dsp_rows16(const nncc_dsp_quads16_params *p, const int8_t *x, int32_t count,
                                            int32_t *left, const int8_t *at[])
{
    for (int32_t i = 0; i < count; i++) {
        at[i] = x;
        x += p->in[0];
        *left -= 1;
        if (*left == 0) {
            x += p->skip;
            *left = p->line;
        }
    }
    return x;
}

#endif

/* Where the pixels of four are, pitch bytes apart, of which `count` are wanted: the last one again where one is
 * missing.
 */
static inline void nncc_dsp_places16(int32_t at[3], int32_t count, int32_t pitch)
{
    for (int32_t i = 0; i < 3; i++) {
        at[i] = (i + 1 < count ? i + 1 : count - 1) * pitch;
    }
}
