/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_limit.h"

nncc_status nncc_check_indices(const void *indices, int32_t index_bytes, int32_t count, const nncc_limit *limits,
                               int32_t depth)
{
    int32_t k = 0;

    for (int32_t i = 0; i < count; i++) {
        const int64_t v = index_bytes == 8 ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];

        if (v < limits[k].least || v > limits[k].most) {
            return NNCC_ERR_INDEX;
        }
        k = k + 1 < depth ? k + 1 : 0;
    }
    return NNCC_OK;
}
