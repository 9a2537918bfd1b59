/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_copy.h"
#include "nncc_move.h"
#include "nncc_run.h"

void nncc_fill(const nncc_fill_params *p, const void *value, void *y)
{
    if (p->elem == 1) {
        nncc_set(y, *(const uint8_t *)value, p->count);
    } else {
        nncc_run(value, 0, y, 1, p->count, p->elem);
    }
}
