/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

int64_t nncc_f64_to_i64(double v)
{
    if (!(v < 9223372036854775808.0)) {
        return v >= 9223372036854775808.0 ? INT64_MAX : 0;
    }
    return v <= -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
}
