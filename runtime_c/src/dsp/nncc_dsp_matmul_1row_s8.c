/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_matmul_1row_s8: one pixel times narrow weights. 8 inputs are 3 LDM, 8 SXTB16 and 16 SMLAD for 32 MACs: per
 * MAC 0.38 words loaded by 0.09 instructions, 0.5 MACs, 0.25 others.
 */
#include "nncc_dsp_matmul_1row.h"

#if NNCC_DSP_ASM

#define NNCC_PART "sub r3, r3, r2\n sub r5, r5, r4\n"
#define NNCC_EVEN(a) "lsl " a ", " a ", #1\n"
#define NNCC_ODD(a) "asr " a ", " a ", #7\n"

NNCC_DSP_NAKED void nncc_dsp_matmul_1row_s8(NNCC_DSP_ARG const nncc_dsp_matmul_params *p, NNCC_DSP_ARG const void *x,
                                            NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(
        NNCC_MAT1("28", "", "", NNCC_NARROW_EIGHT, "27", "3", NNCC_PART, NNCC_EVEN, NNCC_ODD, NNCC_EVEN, NNCC_ODD));
}

#else

NNCC_DSP_AS_WRITTEN void nncc_dsp_matmul_1row_s8(const nncc_dsp_matmul_params *p, const void *x, const int32_t *w,
                                                 int8_t *y)
{
    nncc_dsp_products(p, x, 1, NNCC_DSP_NARROW, 0, w, y);
}

#endif
