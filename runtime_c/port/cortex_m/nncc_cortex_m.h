/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Registers and linker symbols that the files of this folder share. Register
 * names and addresses: Arm Architecture Reference Manuals, v6-M to v8.1-M. */
#ifndef NNCC_CORTEX_M_H
#define NNCC_CORTEX_M_H

#include <stdint.h>

#define NNCC_REG(address) (*(volatile uint32_t *)(address))

#define NNCC_SYST_CSR NNCC_REG(0xE000E010u)
#define NNCC_SYST_RVR NNCC_REG(0xE000E014u)
#define NNCC_SYST_CVR NNCC_REG(0xE000E018u)
#define NNCC_CCR NNCC_REG(0xE000ED14u)
#define NNCC_SHCSR NNCC_REG(0xE000ED24u)
#define NNCC_CFSR NNCC_REG(0xE000ED28u)
#define NNCC_HFSR NNCC_REG(0xE000ED2Cu)
#define NNCC_MMFAR NNCC_REG(0xE000ED34u)
#define NNCC_BFAR NNCC_REG(0xE000ED38u)
#define NNCC_CPACR NNCC_REG(0xE000ED88u)
#define NNCC_FPCCR NNCC_REG(0xE000EF34u)

/* Set by the linker script. The thread stack is [stack_limit, stack_top). */
extern uint32_t nncc_ld_data[], nncc_ld_data_end[];
extern const uint32_t nncc_ld_data_load[];
extern uint32_t nncc_ld_bss[], nncc_ld_bss_end[];
extern uint32_t nncc_ld_stack_limit[], nncc_ld_stack_top[];
extern uint32_t nncc_ld_handler_stack_top[];

/* Words at the bottom of the stack that have to stay as painted. */
#define NNCC_STACK_GUARD_WORDS 8
#define NNCC_STACK_PAINT 0xA6C3995Au

void nncc_reset_handler(void);
void nncc_systick_handler(void);
void nncc_fault_handler(void);
void nncc_fault_report(const uint32_t *frame, uint32_t exc_return);
void nncc_start(void);

/* Ends the program; semihosting. */
void nncc_exit(int32_t code) __attribute__((noreturn));

#endif
