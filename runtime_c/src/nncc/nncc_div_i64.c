/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

int64_t nncc_div_i64(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0u - (uint64_t)a) : a / b;
}
