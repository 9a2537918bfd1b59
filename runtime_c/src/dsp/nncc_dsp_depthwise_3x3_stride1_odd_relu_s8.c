/* nncc_dsp_depthwise_3x3_stride1_odd_relu_s8: stride 1, the upper pair of rows is the second word of each two, act_min >= zero. */
#define NNCC_ROWS_RELU 1
#include "nncc_dsp_depthwise_3x3_stride1.h"

NNCC_ROWS_NAKED void nncc_dsp_depthwise_3x3_stride1_odd_relu_s8(NNCC_ROWS_ARG const nncc_dsp_depthwise_3x3_row_params *p, NNCC_ROWS_ARG const int32_t *x,
                                                NNCC_ROWS_ARG const int32_t *w, NNCC_ROWS_ARG int8_t *y)
{
    NNCC_ROWS3_ODD;
}
