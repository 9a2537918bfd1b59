/* SPDX-License-Identifier: Apache-2.0 */

#include "logging.h"
#include "nncc_port.h"
#define NNCC_TRACE
#define NNCC_TRACE_DWT
#define NNCC_TRACE_CLOCK logging_clock
#define nncc_trace logging_trace
#include "harness/nncc_trace_dwt.c"
#include "digits.inc"
uint32_t logging_clock(void) { return (uint32_t)nncc_port_ticks(); }
int32_t logging_run(void *arena)
{
    const nncc_status s = digits_run(arena);
    nncc_trace_json(&digits_info, nncc_port_print);
    return (int32_t)s;
}
