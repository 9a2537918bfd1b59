/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

#include "nncc_bits.h"
#include "nncc_reciprocal.h"
#include "nncc_requant.h"
#include "nncc_saturate.h"

/* (a + b) / 2, ties away from zero. */
static int32_t nncc_half_sum(int32_t a, int32_t b)
{
    const int64_t sum = (int64_t)a + b;

    return (int32_t)((sum >= 0 ? sum + 1 : sum - 1) / 2);
}

/* The sum, modulo 2^32. */
static int32_t nncc_wrap_sum(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

int64_t nncc_log_q12(int64_t v)
{
    const int32_t root_half = 1518500250;      /* sqrt(1/2) */
    const int32_t root_root_half = 1805811301; /* its root */
    const int32_t quarter = (int32_t)1 << 23;  /* in Q6.25 */
    const int32_t x = (int32_t)(v < 1 ? 1 : v);
    const int32_t zeros = nncc_leading_zeros((uint32_t)x);
    const int32_t b = nncc_rq_high_mult(x, root_half);
    const int32_t room = (b == 0 ? 32 : nncc_leading_zeros((uint32_t)b)) - 1;
    const int32_t ra = nncc_sat_up(nncc_rq_high_mult(nncc_sat_up(x, zeros - 1), root_half), 1);
    const int32_t rb = nncc_sat_up(x, room);
    const int32_t power_a = nncc_sat_s32((int64_t)nncc_sat_up(12 - zeros, 25) + quarter);
    const int32_t power_b = nncc_sat_s32((int64_t)nncc_sat_up(12 - room, 25) - quarter);
    const int32_t r = ra < rb ? ra : rb;
    const int32_t power = power_a > power_b ? power_a : power_b;
    const int32_t p = nncc_half_sum(r, root_root_half);
    const int32_t q = (int32_t)(2u * ((uint32_t)r - (uint32_t)root_root_half));
    const int32_t square = nncc_rq_high_mult(q, q);
    const int32_t num =
        nncc_wrap_sum(nncc_rq_high_mult(q, r), nncc_rq_high_mult(nncc_rq_high_mult(q, square), 117049297));
    const int32_t inner = nncc_wrap_sum(nncc_wrap_sum(1057819769, q), nncc_rq_high_mult(127690142, square));
    const int32_t den = nncc_wrap_sum(nncc_rq_high_mult(p, inner), nncc_rq_high_mult(638450708, q));
    const int32_t part =
        nncc_rq_high_mult(nncc_rq_shift_right(num, 6), nncc_reciprocal((uint32_t)den + ((uint32_t)1 << 31)));

    return nncc_sat_up(nncc_wrap_sum(nncc_rq_high_mult(power, 1488522236), part), 1);
}
