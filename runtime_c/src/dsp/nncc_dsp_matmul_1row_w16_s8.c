/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_matmul_1row_w16_s8: one pixel times wide weights. 8 inputs are 5 LDM and 16 SMLAD for 32 MACs: per MAC 0.63
 * words loaded by 0.16 instructions, 0.5 MACs, no others.
 */
#include "nncc_dsp_matmul_1row.h"

#if NNCC_DSP_ASM

#define NNCC_FOUR(x) \
    "ldm r1!, {r10, r11, r12, lr}\n" \
    "smlad r2, " x ", r10, r2\n smlad r3, " x ", r11, r3\n" \
    "smlad r4, " x ", r12, r4\n smlad r5, " x ", lr, r5\n"
#define NNCC_EIGHT "ldm r0!, {r6, r7, r8, r9}\n" NNCC_FOUR("r6") NNCC_FOUR("r7") NNCC_FOUR("r8") NNCC_FOUR("r9")
#define NNCC_KEEP(a) ""

NNCC_DSP_NAKED void nncc_dsp_matmul_1row_w16_s8(NNCC_DSP_ARG const nncc_dsp_matmul_params *p,
                                                NNCC_DSP_ARG const void *x, NNCC_DSP_ARG const int32_t *w,
                                                NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(NNCC_MAT1("28", "", "", NNCC_EIGHT, "21", "4", "", NNCC_KEEP, NNCC_KEEP, NNCC_KEEP, NNCC_KEEP));
}

#else

NNCC_DSP_UNSPLIT void nncc_dsp_matmul_1row_w16_s8(const nncc_dsp_matmul_params *p, const void *x, const int32_t *w,
                                                  int8_t *y)
{
    nncc_dsp_products(p, x, 1, NNCC_DSP_WIDE, 0, w, y);
}

#endif
