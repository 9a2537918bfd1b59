/*
 * nncc_dsp_mat2_wide_s8: two pixels times wide weights. A pair of inputs is 3 LDRD and 8 SMLAD for 16 MACs: per MAC 0.38
 * words loaded, 0.5 MACs, no others.
 */
#include "nncc_dsp_mat2.h"

#if NNCC_DSP_ASM

#define NNCC_PAIR                       \
    "ldrd r10, r11, [r0], #8\n"         \
    "ldrd r12, lr, [r1], #8\n"          \
    "smlad r2, r10, r12, r2\n"          \
    "smlad r3, r11, r12, r3\n"          \
    "smlad r4, r10, lr, r4\n"           \
    "smlad r5, r11, lr, r5\n"           \
    "ldrd r12, lr, [r1], #8\n"          \
    "smlad r6, r10, r12, r6\n"          \
    "smlad r7, r11, r12, r7\n"          \
    "smlad r8, r10, lr, r8\n"           \
    "smlad r9, r11, lr, r9\n"
#define NNCC_KEEP(a)

NNCC_DSP_NAKED void nncc_dsp_mat2_wide_s8(NNCC_DSP_ARG const nncc_dsp_mat_params *p, NNCC_DSP_ARG const void *x,
                                          NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(NNCC_MAT2(NNCC_PAIR, "44", "4", "", NNCC_KEEP, NNCC_KEEP));
}

#else

void nncc_dsp_mat2_wide_s8(const nncc_dsp_mat_params *p, const void *x, const int32_t *w, int8_t *y)
{
    nncc_dsp_products(p, x, 2, 1, w, y);
}

#endif
