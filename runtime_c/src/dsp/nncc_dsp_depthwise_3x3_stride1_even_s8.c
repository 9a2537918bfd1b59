/* nncc_dsp_depthwise_3x3_stride1_even_s8: stride 1, the upper pair of rows is the first word of each two. */
#include "nncc_dsp_depthwise_3x3_stride1.h"

NNCC_ROWS_NAKED void nncc_dsp_depthwise_3x3_stride1_even_s8(NNCC_ROWS_ARG const nncc_dsp_depthwise_3x3_row_params *p, NNCC_ROWS_ARG const int32_t *x,
                                            NNCC_ROWS_ARG const int32_t *w, NNCC_ROWS_ARG int8_t *y)
{
    NNCC_ROWS3_EVEN;
}
