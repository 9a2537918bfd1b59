/* nncc_dsp_matmul_2rows_w16_s8: two pixels times wide weights. */
#include "nncc_dsp_matmul_2rows.h"

#if NNCC_DSP_ASM

NNCC_DSP_NAKED void nncc_dsp_matmul_2rows_w16_s8(NNCC_DSP_ARG const nncc_dsp_matmul_params *p, NNCC_DSP_ARG const void *x,
                                          NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(NNCC_MAT2_WIDE(NNCC_MAT2_CLAMP));
}

#else

void nncc_dsp_matmul_2rows_w16_s8(const nncc_dsp_matmul_params *p, const void *x, const int32_t *w, int8_t *y)
{
    nncc_dsp_products(p, x, 2, 1, w, y);
}

#endif
