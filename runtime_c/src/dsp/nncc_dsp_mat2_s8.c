/*
 * nncc_dsp_mat2_s8: two pixels times narrow weights. A pair of inputs is 2 LDRD, 2 SXTB16 and 8 SMLAD for 16 MACs: per MAC
 * 0.25 words loaded, 0.5 MACs, 0.13 others.
 */
#include "nncc_dsp_mat2.h"

#if NNCC_DSP_ASM

#define NNCC_PAIR                       \
    "ldrd r10, r11, [r0], #8\n"         \
    "ldrd r12, lr, [r1], #8\n"          \
    "smlad r4, r10, r12, r4\n"          \
    "smlad r5, r11, r12, r5\n"          \
    "sxtb16 r12, r12\n"                 \
    "smlad r2, r10, r12, r2\n"          \
    "smlad r3, r11, r12, r3\n"          \
    "smlad r8, r10, lr, r8\n"           \
    "smlad r9, r11, lr, r9\n"           \
    "sxtb16 lr, lr\n"                   \
    "smlad r6, r10, lr, r6\n"           \
    "smlad r7, r11, lr, r7\n"

#define NNCC_PART "sub r4, r4, r2\n sub r5, r5, r3\n sub r8, r8, r6\n sub r9, r9, r7\n"
#define NNCC_EVEN(a) "lsl " a ", " a ", #1\n"
#define NNCC_ODD(a) "asr " a ", " a ", #7\n"

NNCC_DSP_NAKED void nncc_dsp_mat2_s8(NNCC_DSP_ARG const nncc_dsp_mat_params *p, NNCC_DSP_ARG const void *x,
                                     NNCC_DSP_ARG const int32_t *w, NNCC_DSP_ARG int8_t *y)
{
    __asm volatile(NNCC_MAT2(NNCC_PAIR, "48", "3", NNCC_PART, NNCC_EVEN, NNCC_ODD));
}

#else

void nncc_dsp_mat2_s8(const nncc_dsp_mat_params *p, const void *x, const int32_t *w, int8_t *y)
{
    nncc_dsp_products(p, x, 2, 0, w, y);
}

#endif
