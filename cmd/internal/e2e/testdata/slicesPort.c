/* SPDX-License-Identifier: Apache-2.0 */

#include "slices_port.h"
#include "slices.h"
#include "nncc_port.h"
static volatile uint32_t done;
uint32_t slices_clock(void) { return (uint32_t)nncc_port_ticks(); }
void slices_work(void) { done++; }
int32_t slices_timed(void *arena)
{
    const uint32_t start = slices_clock();
    const int32_t status = slices_run(arena);
    const uint32_t took = slices_clock() - start;
    nncc_port_print("slices ");
    nncc_port_print_hex(slices_served);
    nncc_port_print(" ");
    nncc_port_print_hex(slices_latest);
    nncc_port_print(" ");
    nncc_port_print_hex(took);
    nncc_port_print("\n");
    return (done == slices_served) ? status : 100;
}
