/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Walk over two NHWC tensors that broadcast their dimensions of size 1. */
#include "nncc_cmsis.h"

/* Elements to skip for one step along each axis, 0 where the axis broadcasts. */
static inline void nncc_broadcast_steps(const cmsis_nn_dims *d, int32_t step[4])
{
    step[3] = d->c == 1 ? 0 : 1;
    step[2] = d->w == 1 ? 0 : d->c;
    step[1] = d->h == 1 ? 0 : d->w * d->c;
    step[0] = d->n == 1 ? 0 : d->h * d->w * d->c;
}
