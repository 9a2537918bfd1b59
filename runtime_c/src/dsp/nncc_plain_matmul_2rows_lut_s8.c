/* nncc_plain_matmul_2rows_lut_s8: two pixels by four channels without the DSP extension, a function of each result. */
#include "nncc_plain_matmul_2rows.h"

#if NNCC_PLAIN_ASM || NNCC_THUMB1_ASM

NNCC_DSP_NAKED void nncc_plain_matmul_2rows_lut_s8(NNCC_DSP_ARG const nncc_dsp_matmul_params *p, NNCC_DSP_ARG const void *x,
                                             NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(NNCC_PLAIN_MAT2(NNCC_TABLE_BOUND, NNCC_TABLE_LOW));
}

#else

void nncc_plain_matmul_2rows_lut_s8(const nncc_dsp_matmul_params *p, const void *x, const int32_t *w, int8_t *y)
{
    nncc_plain_products(p, x, 2, p->y_step, w, y);
}

#endif
