/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

uint64_t nncc_f64_to_u64(double v)
{
    if (v >= 9223372036854775808.0) {
        return v >= 18446744073709549568.0 ? 18446744073709549568u : (uint64_t)v;
    }
    return (uint64_t)nncc_f64_to_i64(v);
}
