/* nncc_helium_depthwise_3x3_stride2_relu_s8: depthwise convolution 3x3, horizontal stride 2, act_min the zero point. */
#define NNCC_DW_ROUND NNCC_ROUND_RELU
#define NNCC_DW_RELU 1
#include "nncc_helium_depthwise_3x3_stride2.h"

void nncc_helium_depthwise_3x3_stride2_relu_s8(const nncc_helium_depthwise_3x3_params *p, const int8_t *x, const int8_t *packed, int8_t *scratch, int8_t *y)
{
    nncc_dw(p, x, packed, scratch, y);
}
