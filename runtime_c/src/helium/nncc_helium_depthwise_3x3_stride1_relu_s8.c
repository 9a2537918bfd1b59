/* nncc_helium_depthwise_3x3_stride1_relu_s8: depthwise convolution 3x3, strides 1, act_min the zero point. */
#define NNCC_PATCH_ROUND NNCC_ROUND_RELU
#define NNCC_PATCH_RELU 1
#include "nncc_helium_depthwise_3x3_stride1.h"

void nncc_helium_depthwise_3x3_stride1_relu_s8(const nncc_helium_depthwise_3x3_params *p, const int8_t *x, const int8_t *packed, int8_t *scratch, int8_t *y)
{
    nncc_patch_depthwise(p, x, packed, scratch, y);
}
