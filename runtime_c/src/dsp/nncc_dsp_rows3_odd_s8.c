/* nncc_dsp_rows3_odd_s8: the upper pair of rows is the second word of each two. */
#include "nncc_dsp_rows3.h"

#if NNCC_DSP_ASM

NNCC_DSP_NAKED void nncc_dsp_rows3_odd_s8(NNCC_DSP_ARG const nncc_dsp_rows3_params *p, NNCC_DSP_ARG const int32_t *x,
                                       NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(NNCC_ROWS3("r3", "r2"));
}

#else

void nncc_dsp_rows3_odd_s8(const nncc_dsp_rows3_params *p, const int32_t *x, const int32_t *w, int8_t *y)
{
    nncc_dsp_rows3(p, x, 1, w, y);
}

#endif
