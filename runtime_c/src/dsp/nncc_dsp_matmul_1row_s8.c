/*
 * nncc_dsp_matmul_1row_s8: one pixel times narrow weights. 8 inputs are 3 LDM, 8 SXTB16 and 16 SMLAD for 32 MACs: per
 * MAC 0.38 words loaded by 0.09 instructions, 0.5 MACs, 0.25 others.
 */
#include "nncc_dsp_matmul_1row.h"

#if NNCC_DSP_ASM

#define NNCC_TWO(x, h0, h1) \
    "smlad r3, " x ", " h0 ", r3\n sxtb16 " h0 ", " h0 "\n smlad r2, " x ", " h0 ", r2\n" \
    "smlad r5, " x ", " h1 ", r5\n sxtb16 " h1 ", " h1 "\n smlad r4, " x ", " h1 ", r4\n"
#define NNCC_EIGHT \
    "ldm r0!, {r6, r7, r8, r9}\n" \
    "ldm r1!, {r10, r11, r12, lr}\n" NNCC_TWO("r6", "r10", "r11") \
        NNCC_TWO("r7", "r12", "lr") "ldm r1!, {r10, r11, r12, lr}\n" NNCC_TWO("r8", "r10", "r11") \
            NNCC_TWO("r9", "r12", "lr")
#define NNCC_PART "sub r3, r3, r2\n sub r5, r5, r4\n"
#define NNCC_EVEN(a) "lsl " a ", " a ", #1\n"
#define NNCC_ODD(a) "asr " a ", " a ", #7\n"

NNCC_DSP_NAKED void nncc_dsp_matmul_1row_s8(NNCC_DSP_ARG const nncc_dsp_matmul_params *p, NNCC_DSP_ARG const void *x,
                                            NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(NNCC_MAT1(NNCC_EIGHT, "27", "3", NNCC_PART, NNCC_EVEN, NNCC_ODD));
}

#else

void nncc_dsp_matmul_1row_s8(const nncc_dsp_matmul_params *p, const void *x, const int32_t *w, int8_t *y)
{
    nncc_dsp_products(p, x, 1, 0, w, y);
}

#endif
