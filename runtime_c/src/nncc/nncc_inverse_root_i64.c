/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

#include "nncc_bits.h"
#include "nncc_requant.h"
#include "nncc_saturate.h"

int64_t nncc_inverse_root_i64(int64_t v)
{
    const int32_t half_three = ((int32_t)1 << 28) + ((int32_t)1 << 27);
    uint32_t in = v < 0 ? 0u : (uint32_t)v;
    int32_t right = 11;
    int32_t x = (int32_t)1 << 28; /* Newton's steps from 1, in Q3.28 */

    if (v <= 1) {
        return INT32_MAX;
    }
    for (; in >= (uint32_t)1 << 29; in /= 4u) {
        right++;
    }
    int32_t pairs = (nncc_leading_zeros(in) - 1) / 2 - 1;
    right -= pairs;
    in <<= 2 * pairs;
    int32_t half = nncc_rq_shift_right((int32_t)(in >> 1), 1);
    for (int32_t i = 0; i < 5; i++) {
        const int32_t cube = nncc_sat_up(nncc_rq_high_mult(nncc_rq_high_mult(x, x), x), 6);

        x = nncc_sat_up(nncc_rq_high_mult(half_three, x) - nncc_rq_high_mult(half, cube), 3);
    }
    x = nncc_rq_high_mult(x, 1518500250); /* sqrt(1/2) */
    if (right < 0) {
        return (int64_t)(uint32_t)((uint32_t)x << -right);
    }
    return (int64_t)x - (int64_t)right * ((int64_t)1 << 32);
}
