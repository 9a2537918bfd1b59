/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

#include "nncc_bits.h"
#include "nncc_reciprocal.h"
#include "nncc_requant.h"

int64_t nncc_quotient_i64(int64_t a, int64_t b, int32_t mult, int32_t shift)
{
    const int32_t v = (int32_t)(b < 0 ? -a : a);
    const uint32_t d = (uint32_t)(b < 0 ? -b : b);
    const uint32_t bits = (uint32_t)(v < 0 ? ~v : v);
    int32_t zeros;
    int32_t headroom;

    if (d == 0u) {
        return 0;
    }
    zeros = nncc_leading_zeros(d);
    headroom = bits == 0u ? 31 : nncc_leading_zeros(bits) - 1;
    return nncc_rq(nncc_rq_high_mult((int32_t)((uint32_t)v << headroom), nncc_reciprocal(d << zeros)), mult,
                   shift - (31 - zeros) - headroom);
}
