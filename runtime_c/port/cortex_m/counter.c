/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Counts instructions with SysTick. Under QEMU's -icount every instruction
 * takes the same virtual time, so ticks are instructions times a constant,
 * which boards/run knows. */
#include "nncc_cortex_m.h"
#include "nncc_port.h"

#define RELOAD 0xFFFFFFu

/* Written by the handler. Its fields are used by number in the assembly. */
struct nncc_counter
{
    uint32_t wraps;     /* offset 0 */
    uint32_t lowest_sp; /* offset 4: deepest stack pointer an interrupt left behind */
};
extern volatile struct nncc_counter nncc_counter;
volatile struct nncc_counter nncc_counter;

/* 12 instructions on every path: boards/run/qemu.go subtracts them. */
__attribute__((naked, used)) void nncc_systick_handler(void)
{
    __asm volatile(".syntax unified\n"
                   "ldr r0, =nncc_counter\n"
                   "ldr r1, [r0]\n"
                   "adds r1, #1\n"
                   "str r1, [r0]\n"
                   "mrs r2, psp\n"
                   "ldr r1, [r0, #4]\n"
                   "subs r2, r2, r1\n" /* borrow: this one is lower */
                   "sbcs r3, r3\n"     /* all ones if so, else 0 */
                   "ands r2, r3\n"
                   "adds r1, r1, r2\n"
                   "str r1, [r0, #4]\n"
                   "bx lr\n"
                   ".ltorg\n");
}

void nncc_port_count(int32_t on)
{
    NNCC_SYST_CSR = 0u;
    if (on != 0) {
        /* What stands here stays after counting, for nncc_port_stack_used. */
        nncc_counter.wraps = 0u;
        nncc_counter.lowest_sp = 0xFFFFFFFFu;
        NNCC_SYST_RVR = RELOAD;
        NNCC_SYST_CVR = 0u;
        NNCC_SYST_CSR = 7u; /* processor clock, interrupt, on */
        /* The first tick loads the reload value: wait until it has. */
        while (NNCC_SYST_CVR == 0u) {
        }
    }
}

__attribute__((noinline)) uint64_t nncc_port_ticks(void)
{
    uint32_t wraps;
    uint32_t now;
    do {
        wraps = nncc_counter.wraps;
        now = NNCC_SYST_CVR;
    } while (wraps != nncc_counter.wraps);
    return ((uint64_t)wraps << 24) + (RELOAD - now);
}

uint32_t nncc_port_interrupts(void)
{
    return nncc_counter.wraps;
}

__attribute__((naked)) uintptr_t nncc_port_sp(void)
{
    __asm volatile("mov r0, sp\n bx lr\n");
}

__attribute__((naked)) void nncc_port_stack_paint(void)
{
    /* No stack of its own: paints up to the caller's. */
    __asm volatile(".syntax unified\n"
                   "ldr r0, =nncc_ld_stack_limit\n"
                   "ldr r1, =%c0\n"
                   "mov r2, sp\n"
                   "1: cmp r0, r2\n"
                   "bhs 2f\n"
                   "str r1, [r0]\n"
                   "adds r0, #4\n"
                   "b 1b\n"
                   "2: bx lr\n"
                   ".ltorg\n" ::"i"(NNCC_STACK_PAINT));
}

uint32_t nncc_port_stack_used(uintptr_t top, int32_t *exact)
{
    const uint32_t *p = nncc_ld_stack_limit;
    while ((uintptr_t)p < top && *p == NNCC_STACK_PAINT) {
        p++;
    }
    /* The frame of an interrupt lies above the stack pointer it saw. */
    *exact = (uintptr_t)p < (uintptr_t)nncc_counter.lowest_sp;
    return (uint32_t)(top - (uintptr_t)p);
}

int32_t nncc_port_stack_overflow(void)
{
    for (int32_t i = 0; i < NNCC_STACK_GUARD_WORDS; i++) {
        if (nncc_ld_stack_limit[i] != NNCC_STACK_PAINT) {
            return 1;
        }
    }
    return 0;
}
