/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* What the harness needs from the machine it runs on: files, a counter of
 * instructions, a look at the stack. Implemented by cortex_m/ and host/. */
#ifndef NNCC_PORT_H
#define NNCC_PORT_H

#include <stdint.h>

/* Files. Handles are >= 0; read, write and seek return 0 on success. */
int32_t nncc_port_open(const char *name, int32_t for_writing);
int32_t nncc_port_read(int32_t handle, void *to, uint32_t bytes);
int32_t nncc_port_write(int32_t handle, const void *from, uint32_t bytes);
int32_t nncc_port_seek(int32_t handle, uint32_t position);
int32_t nncc_port_close(int32_t handle);

/* Console. */
void nncc_port_print(const char *text);
void nncc_port_print_hex(uint32_t value);

/* The counter: ticks since nncc_port_count(1). Each of the counter's own
 * interrupts (`interrupts` since then) costs the same number of instructions,
 * which boards/run subtracts. count(0) stops and keeps the number. All zero on a
 * host. */
void nncc_port_count(int32_t on);
uint64_t nncc_port_ticks(void);
uint32_t nncc_port_interrupts(void);

/* The stack. paint fills all that is free below the caller; used gives the
 * depth, in bytes below `top`, that was reached since; `*exact` is 0 where the
 * counter's interrupts may have reached deeper than the model. */
uintptr_t nncc_port_sp(void);
void nncc_port_stack_paint(void);
uint32_t nncc_port_stack_used(uintptr_t top, int32_t *exact);
/* 0 while the lowest words of the stack are as paint left them. */
int32_t nncc_port_stack_overflow(void);
/* 0 while the exception vectors are as they were: where they lie at address
 * zero, that is where a write through a null pointer ends. */
int32_t nncc_port_vectors_changed(void);

/* Sanitisers: makes any access to the bytes an error, or allows it again. */
void nncc_port_forbid(const void *from, uint32_t bytes);
void nncc_port_allow(const void *from, uint32_t bytes);

#endif
