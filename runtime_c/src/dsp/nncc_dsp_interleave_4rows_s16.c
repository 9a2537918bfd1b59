/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_interleave_4rows_s16: int16 of four pixels side by side, two of each at a time. */
#include "nncc_dsp_channels_s16.h"

#if NNCC_DSP_ASM

NNCC_DSP_NAKED int32_t *nncc_dsp_interleave_4rows_s16(NNCC_DSP_ARG const int8_t *a, NNCC_DSP_ARG const int8_t *b,
                                                      NNCC_DSP_ARG const int8_t *c, NNCC_DSP_ARG const int8_t *d,
                                                      NNCC_DSP_ARG int32_t n, NNCC_DSP_ARG int32_t *x)
{
    /* clang-format off */
    __asm volatile(".syntax unified\n"
                   "push {r4-r9}\n"
                   "ldrd r4, r5, [sp, #24]\n"
                   NNCC_DSP_SIDE16
                   "mov r0, r5\n"
                   "pop {r4-r9}\n"
                   "bx lr\n");
    /* clang-format on */
}

#else

int32_t *nncc_dsp_interleave_4rows_s16(const int8_t *a, const int8_t *b, const int8_t *c, const int8_t *d, int32_t n,
                                       int32_t *x)
{
    const int8_t *const rows[4] = {a, b, c, d};

    for (int32_t px = 0; px < 4; px++) {
        const int8_t *from = rows[px];
        int32_t *to = x + px;

        if (from == NULL) {
            break;
        }
        for (int32_t k = n >> 1; k > 0; k--) {
            *to = nncc_dsp_two_inputs(from);
            from += 4;
            to += 4;
        }
        if ((n & 1) != 0) {
            int16_t last;

            memcpy(&last, from, sizeof last);
            *to = last;
        }
    }
    return x + 4 * ((n + 1) >> 1);
}

#endif
