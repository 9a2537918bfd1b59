/* nncc_helium_depthwise3x3_2_relu_s8: depthwise convolution 3x3, horizontal stride 2, act_min >= zero. */
#define NNCC_DW_ROUND NNCC_ROUND_RELU
#include "nncc_helium_depthwise3x3.h"

void nncc_helium_depthwise3x3_2_relu_s8(const nncc_helium_depthwise *p, const int8_t *x, const int8_t *packed, int16_t *scratch, int8_t *y)
{
    nncc_dw(p, x, packed, scratch, y);
}
