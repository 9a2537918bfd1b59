/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

#include <string.h>

uint16_t nncc_f32_to_bf16(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)((bits >> 16) | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
