/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_plain_core.h: requantisation for cores without the DSP extension: NNCC_PLAIN_* for Thumb-2,
 * NNCC_THUMB1_* for Thumb-1, in assembly, and in C.
 */
#include "nncc_dsp_core.h"

#if NNCC_PLAIN_ASM

/* The sum a, scaled by m, c, s (c is lost where c2 is c), becomes 0 to 255; t is lost. */
#define NNCC_PLAIN_OUTPUT(a, m, c, s, t, c2) \
    "lsl " a ", " a ", #1\n add " c2 ", " c ", " a ", asr #31\n mov " t ", #0x80000000\n" \
    "smlal " t ", " c2 ", " a ", " m "\n asr " a ", " c2 ", " s "\n usat " a ", #8, " a "\n"
/* a is at most the bound, 255 - cap; later low is added. */
#define NNCC_PLAIN_CLAMP(a, bound) "cmp " a ", " bound "\n it gt\n movgt " a ", " bound "\n"
#define NNCC_PLAIN_LOW(a, low) "add " a ", " a ", " low "\n"
/* The low bytes of low and cap become low and 255 - cap. */
#define NNCC_PLAIN_BOUND(low, cap) "uxtb " low ", " low "\n uxtb " cap ", " cap "\n rsb " cap ", " cap ", #255\n"

#endif

#if NNCC_THUMB1_ASM

/*
 * The sum v in a low register, scaled by the words m, c, s at r3 (which moves behind them), is left in r0; r0, r1, r4
 * to r7 and v are lost. In halves: the products of 16 bits with their carries, as nncc_plain_scale does it. lr holds
 * 0x8000.
 */
#define NNCC_THUMB1_SCALE(v) \
    "ldm r3!, {r4, r5}\n lsls " v ", " v ", #1\n asrs r0, " v ", #31\n adds r5, r5, r0\n" \
    "asrs r0, " v ", #16\n uxth " v ", " v "\n asrs r1, r4, #16\n uxth r4, r4\n" \
    "mov r7, " v "\n muls r7, r1\n muls " v ", r4\n lsrs " v ", " v ", #16\n adds r7, r7, " v "\n" \
    "muls r4, r0\n muls r0, r1\n uxth " v ", r7\n adds r4, r4, " v "\n add r4, lr\n asrs r4, r4, #16\n" \
    "lsrs r7, r7, #16\n adds r0, r0, r7\n adds r0, r0, r4\n adds r0, r0, r5\n ldm r3!, {r4}\n asrs r0, r4\n"
/* r0 becomes at least 0 and at most the bound at sp + AT, r1 the word behind it; then the lower bound there is added.
 */
#define NNCC_THUMB1_BOUNDED(AT) \
    "ldr r1, [sp, #" AT "]\n cmp r0, r1\n bls 9f\n asrs r0, r0, #31\n mvns r0, r0\n ands r0, r1\n" \
    "9: ldr r1, [sp, #" AT "+4]\n"
#define NNCC_THUMB1_CLAMP(AT) NNCC_THUMB1_BOUNDED(AT) "adds r0, r0, r1\n"

#endif

#if !NNCC_PLAIN_ASM && !NNCC_THUMB1_ASM

/* A sum scaled by {m, c, s}; GCC has lower registers for it on Thumb-1 only in a function by itself. */
#if NNCC_THUMB1
NNCC_APART __attribute__((unused)) static int32_t nncc_plain_scaled(int32_t sum, const int32_t *mcs)
{
    return nncc_plain_scale(2 * sum, mcs);
}
#else
static inline int32_t nncc_plain_scaled(int32_t sum, const int32_t *mcs)
{
    const int32_t twice = 2 * sum;
    const int64_t start = (int64_t)(mcs[1] + (twice >> 31)) * 0x100000000LL | 0x80000000LL; /* of SMLAL */

    return (int32_t)((start + (int64_t)twice * mcs[0]) >> 32) >> mcs[2];
}
#endif

#if defined(__GNUC__)
typedef uint16_t __attribute__((may_alias)) nncc_plain_half;
#else
typedef uint16_t nncc_plain_half;
#endif

/* The weight of channel c of four for an input, a byte or 4 bits of half a word. */
static inline int32_t nncc_plain_weight(const int8_t *w, int32_t fours, int32_t c)
{
    if (fours == 0) {
        return w[c];
    }
    return (int32_t)((uint32_t) * (const nncc_plain_half *)(const void *)w << (28 - 4 * c)) >> 28;
}

#endif
