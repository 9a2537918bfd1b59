/* Softmax of every row of int8 values; the result is int16 with scale 1/65536. */
#include "nncc_cmsis_softmax.h"

void arm_softmax_s8_s16(const int8_t *input, const int32_t num_rows, const int32_t row_size, const int32_t mult,
                        const int32_t shift, const int32_t diff_min, int16_t *output)
{
    int32_t row, i;

    for (row = 0; row < num_rows; row++)
    {
        int32_t scale, headroom;
        const int32_t top = nncc_softmax_row(input, row_size, mult, shift, diff_min, &scale, &headroom);
        const int32_t out_shift = NNCC_SOFTMAX_ACCUM_BITS + 15 - headroom;

        for (i = 0; i < row_size; i++)
        {
            int32_t v = NN_Q15_MIN;

            if (input[i] - top >= diff_min)
            {
                v += nncc_div_pow2(nncc_high_mult_sat(scale, nncc_softmax_term(input[i] - top, mult, shift)),
                                   out_shift);
                v = nncc_min(nncc_max(v, NN_Q15_MIN), NN_Q15_MAX);
            }
            output[i] = (int16_t)v;
        }
        input += row_size;
        output += row_size;
    }
}
