/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_elements.h"

nncc_status nncc_scatter_elements(const nncc_gather_elements_params *p, const void *updates, const void *indices,
                                  void *y)
{
    return nncc_elements(p, indices, (const uint8_t *)updates, (uint8_t *)y, 1);
}
