/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

#include <string.h>

/* m without its low shift bits, rounded to nearest even. */
static uint32_t rounded(uint32_t m, uint32_t shift)
{
    const uint32_t kept = m >> shift;
    const uint32_t rest = m & ((1u << shift) - 1u);
    const uint32_t half = 1u << (shift - 1u);
    return kept + ((rest > half || (rest == half && (kept & 1u) != 0u)) ? 1u : 0u);
}

uint16_t nncc_f32_to_f16(float v)
{
    uint32_t bits, sign, mantissa;
    memcpy(&bits, &v, sizeof bits);
    sign = (bits >> 16) & 0x8000u;
    int32_t exponent = (int32_t)((bits >> 23) & 255u) - 127;
    mantissa = bits & 0x7fffffu;
    if (exponent == 128 && mantissa != 0u) {
        return (uint16_t)(sign | 0x7e00u);
    }
    if (exponent > 15) {
        return (uint16_t)(sign | 0x7c00u);
    }
    if (exponent >= -14) { /* a carry out of the mantissa is the next exponent */
        return (uint16_t)(sign | rounded(((uint32_t)(exponent + 15) << 23) | mantissa, 13u));
    }
    if (exponent >= -25) {
        return (uint16_t)(sign | rounded(mantissa | 0x800000u, (uint32_t)(-exponent - 1)));
    }
    return (uint16_t)sign;
}
