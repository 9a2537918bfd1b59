/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis.h"

void arm_relu6_s8(int8_t *data, uint16_t size)
{
    int32_t i;

    for (i = 0; i < size; i++) {
        data[i] = (int8_t)nncc_min(nncc_max(data[i], 0), 6);
    }
}
