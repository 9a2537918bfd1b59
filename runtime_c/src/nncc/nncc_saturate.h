/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_saturate.h: saturation of int32. */
#include <stdint.h>

static inline int32_t nncc_sat_s32(int64_t v)
{
    return (int32_t)(v > INT32_MAX ? INT32_MAX : (v < INT32_MIN ? INT32_MIN : v));
}

/* v * 2^shift, 0 <= shift <= 31, limited: values beyond -(2^(31-shift)-1) become the most negative number. */
static inline int32_t nncc_sat_up(int32_t v, int32_t shift)
{
    const int32_t limit = (int32_t)(((uint32_t)1 << (31 - shift)) - 1u);

    return v > limit ? INT32_MAX : (v < -limit ? INT32_MIN : (int32_t)((uint32_t)v << shift));
}
