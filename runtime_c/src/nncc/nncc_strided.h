/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_strided.h: bytes that lie apart, four a turn of the loop at distances in registers: 3 instructions a byte on
 * every core, where a loop of single ones takes 5 or 6.
 */
#include <stdint.h>

#include "nncc_isa.h"

/* n neighbours go to bytes that are `step` apart. */
static inline void nncc_apart(uint8_t *to, int32_t step, const uint8_t *from, int32_t n)
{
    const int32_t two = 2 * step;
    const int32_t three = 3 * step;

    NNCC_ROLLED
    for (; n >= 4; n -= 4) {
        to[0] = from[0];
        to[step] = from[1];
        to[two] = from[2];
        to[three] = from[3];
        from += 4;
        to += 4 * step;
    }
    NNCC_ROLLED
    for (; n > 0; n--) {
        *to = *from++;
        to += step;
    }
}

/* n bytes that are `step` apart become neighbours. */
static inline void nncc_together(uint8_t *to, const uint8_t *from, int32_t step, int32_t n)
{
    const int32_t two = 2 * step;
    const int32_t three = 3 * step;

    NNCC_ROLLED
    for (; n >= 4; n -= 4) {
        to[0] = from[0];
        to[1] = from[step];
        to[2] = from[two];
        to[3] = from[three];
        to += 4;
        from += 4 * step;
    }
    NNCC_ROLLED
    for (; n > 0; n--) {
        *to++ = *from;
        from += step;
    }
}
