/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

#include "nncc_bits.h"
#include "nncc_reciprocal.h"

int64_t nncc_reciprocal_q12(int64_t v)
{
    if (v <= 0) {
        return INT32_MAX;
    }
    int32_t headroom = nncc_leading_zeros((uint32_t)v);
    return (int64_t)nncc_reciprocal((uint32_t)v << headroom) + (int64_t)(headroom - 12) * ((int64_t)1 << 32);
}
