/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_s8.h"

void nncc_convert_s8_u8(const nncc_count_params *p, const void *x, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;

    for (int32_t i = 0; i < p->count; i++) {
        to[i] = from[i] ^ 0x80u;
    }
}
