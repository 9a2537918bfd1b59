/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_index.h: reading run-time index tensors. */
#include "nncc.h"

/*
 * Index number i of a tensor of int32 (bytes = 4) or int64 (bytes = 8), counted from the end where negative; -1 when it
 * is outside 0..len-1.
 */
static inline int32_t nncc_index(const void *indices, int32_t i, int32_t bytes, int32_t len)
{
    int64_t v = bytes == 8 ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];

    if (v < 0) {
        v += len;
    }
    return v >= 0 && v < len ? (int32_t)v : -1;
}
