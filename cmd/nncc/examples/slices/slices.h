/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLICES_H
#define SLICES_H

#include <stdint.h>

#ifndef SLICES_PERIOD
#define SLICES_PERIOD 1000000u /* ticks between two deadlines */
#endif

/* Yours: a clock that counts up over 32 bits (SysTick), and the work that is due. */
uint32_t slices_clock(void);
void slices_work(void);

/* Runs the network on the inputs in the arena; the result is an nncc_status. */
int32_t slices_run(void *arena);

/* Of the last run: how often the work was done, and by how many ticks it was late at most. */
extern uint32_t slices_served;
extern uint32_t slices_latest;

#endif
