/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

#include <string.h>

float nncc_f16_to_f32(uint16_t h)
{
    const uint32_t sign = ((uint32_t)h & 0x8000u) << 16;
    uint32_t exponent = ((uint32_t)h >> 10) & 31u;
    uint32_t mantissa = (uint32_t)h & 0x3ffu;
    uint32_t bits;
    float v;
    if (exponent == 31u) {
        bits = sign | 0x7f800000u | (mantissa << 13);
    } else if (exponent != 0u) {
        bits = sign | ((exponent + 112u) << 23) | (mantissa << 13);
    } else if (mantissa == 0u) {
        bits = sign;
    } else { /* subnormal: every one is a normal float */
        exponent = 113u;
        while ((mantissa & 0x400u) == 0u) {
            mantissa <<= 1;
            exponent--;
        }
        bits = sign | (exponent << 23) | ((mantissa & 0x3ffu) << 13);
    }
    memcpy(&v, &bits, sizeof v);
    return v;
}
