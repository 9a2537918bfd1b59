/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

int64_t nncc_pow_i64(int64_t a, int64_t b)
{
    uint64_t r = 1u, f = (uint64_t)a;
    if (b < 0) {
        if (a == 1 || a == -1) {
            return (a == -1 && b % 2 != 0) ? -1 : 1;
        }
        return 0;
    }
    for (; b > 0; b >>= 1) {
        if ((b & 1) != 0) {
            r *= f;
        }
        f *= f;
    }
    return (int64_t)r;
}
