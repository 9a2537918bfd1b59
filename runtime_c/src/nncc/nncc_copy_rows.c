/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_move.h"
#include "nncc_short_runs.h"

void nncc_copy_rows(const nncc_copy_rows_params *p, const void *x, void *y)
{
    nncc_short_runs r;

    if (p->x_pitch == p->block && p->y_pitch == p->block) {
        nncc_copy(y, x, p->rows * p->block);
        return;
    }
    r.n = p->block;
    r.count = p->rows;
    r.from_step = p->x_pitch;
    r.to_step = p->y_pitch;
    nncc_copy_runs(&r, y, x);
}
