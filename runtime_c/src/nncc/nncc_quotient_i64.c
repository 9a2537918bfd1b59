/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

#include "nncc_bits.h"
#include "nncc_reciprocal.h"
#include "nncc_requant.h"

int64_t nncc_quotient_i64(int64_t a, int64_t b, int32_t mult, int32_t shift)
{
    const int32_t v = (int32_t)(b < 0 ? -a : a);
    const uint32_t d = (uint32_t)(b < 0 ? -b : b);
    const uint32_t by = d != 0u ? d : 1u; /* a reciprocal always: data does not decide how often its loop turns */
    const uint32_t bits = (uint32_t)(v < 0 ? ~v : v);
    const int32_t zeros = nncc_leading_zeros(by);
    const int32_t headroom = bits == 0u ? 31 : nncc_leading_zeros(bits) - 1;
    const int32_t part = nncc_rq_high_mult((int32_t)((uint32_t)v << headroom), nncc_reciprocal(by << zeros));

    return d != 0u ? nncc_rq(part, mult, shift - (31 - zeros) - headroom) : 0;
}
