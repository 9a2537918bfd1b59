/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* From reset to nncc_harness_main, and what happens when the processor traps.
 *
 * The program runs in thread mode on the process stack, exceptions on the main
 * stack: a broken thread stack can still be reported. */
#include "nncc_cortex_m.h"
#include "nncc_harness.h"
#include "nncc_port.h"

/* The first two entries are data and code; a union keeps the types honest. */
typedef union
{
    uint32_t *stack;
    void (*handler)(void);
} nncc_vector;

#define VECTORS 16

extern const nncc_vector nncc_vectors[VECTORS];

__attribute__((section(".vectors"), used)) const nncc_vector nncc_vectors[VECTORS] = {
    {.stack = nncc_ld_handler_stack_top}, {.handler = nncc_reset_handler}, {.handler = nncc_fault_handler}, /* NMI */
    {.handler = nncc_fault_handler}, /* HardFault */
    {.handler = nncc_fault_handler}, /* MemManage */
    {.handler = nncc_fault_handler}, /* BusFault */
    {.handler = nncc_fault_handler}, /* UsageFault */
    {.handler = nncc_fault_handler}, /* SecureFault */
    {.handler = nncc_fault_handler},      {.handler = nncc_fault_handler}, {.handler = nncc_fault_handler},
    {.handler = nncc_fault_handler},                                       /* SVC */
    {.handler = nncc_fault_handler},                                       /* DebugMonitor */
    {.handler = nncc_fault_handler},      {.handler = nncc_fault_handler}, /* PendSV */
    {.handler = nncc_systick_handler}};

__attribute__((naked, used)) void nncc_reset_handler(void)
{
    __asm volatile(".syntax unified\n"
                   "ldr r0, =nncc_ld_handler_stack_top\n"
                   "mov sp, r0\n"
                   "ldr r0, =nncc_ld_stack_top\n"
                   "msr psp, r0\n"
#if __ARM_ARCH >= 8 && __ARM_ARCH_ISA_THUMB == 2
                   "ldr r0, =nncc_ld_stack_limit\n"
                   "msr psplim, r0\n"
#endif
                   "movs r0, #2\n" /* CONTROL.SPSEL: thread mode uses PSP */
                   "msr control, r0\n"
                   "isb\n"
                   "bl nncc_start\n"
                   ".ltorg\n");
}

static uint32_t vectors_sum(void)
{
    /* Volatile: the linker's copy counts, not what the compiler knows. */
    const volatile uint32_t *p = (const volatile uint32_t *)(uintptr_t)nncc_vectors;
    uint32_t sum = 0u;
    for (int32_t i = 0; i < VECTORS; i++) {
        sum = (sum << 1) + (sum >> 31) + p[i];
    }
    return sum;
}

static uint32_t vectors_at_start;

int32_t nncc_port_vectors_changed(void)
{
    return vectors_sum() != vectors_at_start;
}

static void enable_core(void)
{
#if __ARM_ARCH_ISA_THUMB == 2
    NNCC_SHCSR |= 7u << 16;   /* MemManage, BusFault, UsageFault apart from HardFault */
    NNCC_CCR |= 1u << 4;      /* DIV_0_TRP: C does not define x/0 */
    NNCC_CPACR |= 0xFu << 20; /* CP10, CP11: FPU and MVE */
    __asm volatile("dsb\n isb" ::: "memory");
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    /* The counter's handler uses no FP register: no need to stack them. */
    NNCC_FPCCR &= ~(3u << 30); /* ASPEN, LSPEN */
    __asm volatile("dsb\n isb" ::: "memory");
#endif
#if defined(__ARM_FEATURE_MVE)
    NNCC_CCR |= 1u << 19; /* LOB: low-overhead loops */
    __asm volatile("dsb\n isb" ::: "memory");
    {
        uint32_t fpscr;
        __asm volatile("vmrs %0, fpscr" : "=r"(fpscr));
        fpscr = (fpscr & ~(7u << 16)) | (4u << 16); /* LTPSIZE 4: no tail predication */
        __asm volatile("vmsr fpscr, %0" ::"r"(fpscr));
    }
#endif
#else
    /* Armv6-M code must not access unaligned data. On a core that could, trap
     * it (CCR.UNALIGN_TRP); on a real Armv6-M the bit always reads as one. */
    NNCC_CCR |= 1u << 3;
    __asm volatile("dsb\n isb" ::: "memory");
#endif
}

__attribute__((used, noreturn)) void nncc_start(void)
{
    const uint32_t *from = nncc_ld_data_load;
    uint32_t *to;
    for (to = nncc_ld_data; to < nncc_ld_data_end; to++) {
        *to = *from++;
    }
    for (to = nncc_ld_bss; to < nncc_ld_bss_end; to++) {
        *to = 0u;
    }
    enable_core();
    vectors_at_start = vectors_sum();
    nncc_exit(nncc_harness_main());
}

__attribute__((naked, used)) void nncc_fault_handler(void)
{
    /* EXC_RETURN bit 2 says which stack holds the frame. */
    __asm volatile(".syntax unified\n"
                   "mov r1, lr\n"
                   "mrs r0, psp\n"
                   "movs r2, #4\n"
                   "tst r1, r2\n"
                   "bne 1f\n"
                   "mrs r0, msp\n"
                   "1:\n"
                   "bl nncc_fault_report\n");
}

static void print_register(const char *name, uint32_t value)
{
    nncc_port_print(name);
    nncc_port_print_hex(value);
}

__attribute__((used)) void nncc_fault_report(const uint32_t *frame, uint32_t exc_return)
{
    static const char *const names[16] = {"thread",       "reset",        "NMI",          "HardFault",
                                          "MemManage",    "BusFault",     "UsageFault",   "SecureFault",
                                          "exception 8",  "exception 9",  "exception 10", "SVCall",
                                          "DebugMonitor", "exception 13", "PendSV",       "SysTick"};
    const uintptr_t at = (uintptr_t)frame;
    uint32_t ipsr;
    __asm volatile("mrs %0, ipsr" : "=r"(ipsr));
    nncc_port_print("nncc: fault: ");
    nncc_port_print(names[ipsr & 15u]);
#if __ARM_ARCH_ISA_THUMB == 2
    print_register(" CFSR=", NNCC_CFSR);
    print_register(" HFSR=", NNCC_HFSR);
    print_register(" MMFAR=", NNCC_MMFAR);
    print_register(" BFAR=", NNCC_BFAR);
#endif
    print_register(" EXC_RETURN=", exc_return);
    print_register(" SP=", (uint32_t)at);
    if ((exc_return & 4u) != 0u && (at < (uintptr_t)nncc_ld_stack_limit || at + 32u > (uintptr_t)nncc_ld_stack_top)) {
        nncc_port_print(" (outside of the stack: it overflowed)");
    } else {
        print_register("\n  PC=", frame[6]);
        print_register(" LR=", frame[5]);
        print_register(" PSR=", frame[7]);
        print_register("\n  R0=", frame[0]);
        print_register(" R1=", frame[1]);
        print_register(" R2=", frame[2]);
        print_register(" R3=", frame[3]);
        print_register(" R12=", frame[4]);
#if __ARM_ARCH_ISA_THUMB == 2
        if ((NNCC_CFSR & (1u << 20)) != 0u) { /* UFSR.STKOF, Armv8-M */
            nncc_port_print(" (stack limit exceeded: it overflowed)");
        }
#endif
    }
    nncc_port_print("\n");
    nncc_exit(NNCC_EXIT_FAULT);
}
