/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

uint64_t nncc_root_u64(uint64_t v)
{
    const uint64_t most = v >> 32 != 0u ? 0xFFFFFFFFu : 0xFFFFu;
    uint64_t bit = (uint64_t)1 << 62;
    uint64_t r = 0;

    while (bit > v) {
        bit >>= 2;
    }
    for (; bit != 0u; bit >>= 2) {
        if (v >= r + bit) {
            v -= r + bit;
            r = (r >> 1) + bit;
        } else {
            r >>= 1;
        }
    }
    return v > r && r != most ? r + 1u : r;
}
