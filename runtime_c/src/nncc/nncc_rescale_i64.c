/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

#include "nncc_requant.h"

int64_t nncc_rescale_i64(int64_t v, int64_t mult, int32_t shift)
{
    const int32_t x = shift > 0 ? (int32_t)((uint32_t)v << shift) : (int32_t)v;
    const int32_t h = (int32_t)(((int64_t)x * mult + ((int64_t)1 << 30)) >> 31);

    return shift < 0 ? nncc_rq_shift_right(h, -shift) : h;
}
