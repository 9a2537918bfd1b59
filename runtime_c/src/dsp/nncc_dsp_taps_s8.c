/*
 * nncc_dsp_taps_s8: one pixel, four channels at a time, tap by tap. A tap is 3 instructions that load 4 words, 2 SXTB16 and
 * 4 SMLAxy for 4 MACs: per MAC 1 word loaded, 1 MAC, 0.5 others. A group adds about 40 instructions for its 4 outputs.
 */
#include "nncc_dsp_taps.h"

#if NNCC_DSP_ASM

#define NNCC_TAP                                                                                        \
    "ldr r3, [r0], #4\n ldrd r9, r10, [r1], #8\n ldr.w r3, [r2, r3]\n"                                  \
    "sxtb16 r8, r3\n sxtb16 r3, r3, ror #8\n"                                                           \
    "smlabb r4, r8, r9, r4\n smlatt r6, r8, r9, r6\n smlabb r5, r3, r10, r5\n smlatt r7, r3, r10, r7\n"
#define NNCC_CHANNEL(a)                                                                                 \
    "ldm r1!, {r8, r9, r10}\n add r9, r9, " a ", asr #31\n smmlar " a ", " a ", r8, r9\n asr " a ", " a ", r10\n"
#define NNCC_STORE                                                                                      \
    NNCC_CHANNEL("r4") NNCC_CHANNEL("r5") NNCC_CHANNEL("r6") NNCC_CHANNEL("r7")                         \
    "pkhbt r4, r4, r6, lsl #16\n pkhbt r5, r5, r7, lsl #16\n usat16 r4, #8, r4\n usat16 r5, #8, r5\n"   \
    "ldrd r8, r9, [sp, #8]\n orr r4, r4, r5, lsl #8\n"                                                 \
    "uqadd8 r4, r4, r9\n uqsub8 r4, r4, r9\n uadd8 r4, r4, r8\n"                                        \
    "str r4, [lr], #4\n"

NNCC_DSP_NAKED void nncc_dsp_taps_s8(NNCC_DSP_ARG const nncc_dsp_taps_params *p, NNCC_DSP_ARG const int32_t *offsets,
                                     NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG const int8_t *x, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(NNCC_TAPS(NNCC_TAP, "36", "", NNCC_STORE));
}

#else

void nncc_dsp_taps_s8(const nncc_dsp_taps_params *p, const int32_t *offsets, const int32_t *w, const int8_t *x, int8_t *y)
{
    for (int32_t i = 0; i < p->channels; i += 4) {
        const int32_t first = nncc_dsp_group(i, p->channels);
        const int32_t *const taps = w + 4;
        const int32_t *const mcs = taps + 2 * p->taps;

        for (int32_t c = 0; c < 4; c++) {
            int32_t sum = w[c];

            for (int32_t t = 0; t < p->taps; t++) {
                const int32_t pair = taps[2 * t + (c & 1)];

                sum += x[offsets[t] + first + c] * (c < 2 ? nncc_dsp_lo(pair) : nncc_dsp_hi(pair));
            }
            y[first + c] = nncc_dsp_clamp(nncc_dsp_scale(sum, mcs + 3 * c, 1), p->low, p->cap);
        }
        w = mcs + 12;
    }
}

#endif
