/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

int64_t nncc_mod_i64(int64_t a, int64_t b, int32_t floor_mod)
{
    const int64_t r = b == -1 ? 0 : a % b;
    return (floor_mod != 0 && r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}
