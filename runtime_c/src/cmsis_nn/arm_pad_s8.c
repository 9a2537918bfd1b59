#include "nncc_copy.h"
#include "nncc_cmsis.h"

arm_cmsis_nn_status arm_pad_s8(const int8_t *input, int8_t *output, const int8_t pad_value,
                               const cmsis_nn_dims *input_size, const cmsis_nn_dims *pre_pad,
                               const cmsis_nn_dims *post_pad)
{
    const int32_t c = pre_pad->c + input_size->c + post_pad->c;
    const int32_t w = pre_pad->w + input_size->w + post_pad->w;
    const int32_t h = pre_pad->h + input_size->h + post_pad->h;
    const int32_t n = pre_pad->n + input_size->n + post_pad->n;
    const int32_t run = input_size->c;
    int32_t in, ih, iw;

    nncc_set(output, (uint8_t)pad_value, n * h * w * c);
    for (in = 0; in < input_size->n; in++) {
        for (ih = 0; ih < input_size->h; ih++) {
            int8_t *row = output + (((pre_pad->n + in) * h + pre_pad->h + ih) * w + pre_pad->w) * c + pre_pad->c;

            for (iw = 0; iw < input_size->w; iw++) {
                nncc_copy(row, input, run);
                input += run;
                row += c;
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
