/* SPDX-License-Identifier: Apache-2.0 */
/* One inference in slices: a step of the network at a time, and in between whatever is due. Here it is a buffer that has
 * to be emptied every SLICES_PERIOD ticks; it waits for one step at most, where digits_run would keep it waiting for the
 * whole inference. The shipped digits network stands for yours. */
#include "slices.h"

#include "digits.h"

uint32_t slices_served;
uint32_t slices_latest;

int32_t slices_run(void *arena)
{
    uint32_t due = slices_clock() + SLICES_PERIOD;
    nncc_status status = NNCC_OK;
    int32_t step = 0;

    slices_served = 0u;
    slices_latest = 0u;
    while (step < DIGITS_STEPS && status == NNCC_OK) {
        const uint32_t late = slices_clock() - due; /* huge while it is not due: time goes on in a circle */
        if (late < 0x80000000u) {
            slices_work();
            slices_served++;
            slices_latest = (late > slices_latest) ? late : slices_latest;
            due += SLICES_PERIOD;
        } else {
            status = digits_step(arena, step);
            step++;
        }
    }
    return (int32_t)status;
}
