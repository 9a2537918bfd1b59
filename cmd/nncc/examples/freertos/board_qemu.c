/* SPDX-License-Identifier: Apache-2.0 */
/* Of the machines mps2-an385, mps2-an386 and mps3-an547 of QEMU: reset, vectors, console by semihosting. Your board has
 * all this already. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "app.h"

extern uint32_t stack_top, data_start, data_end, data_load, bss_start, bss_end;
int main(void);
void reset(void);
void fault(void);
void SVC_Handler(void);
void PendSV_Handler(void);
void SysTick_Handler(void);

static void semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void board_print(const char *text)
{
    semihost(0x04u, text);
}

void board_exit(int ok)
{
    for (;;) {
        semihost(0x18u, (const void *)(uintptr_t)(ok ? 0x20026u : 0x20023u));
    }
}

void fault(void)
{
    board_print("fault\n");
    board_exit(0);
}

void reset(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* CPACR: FPU and Helium on, before a function uses them */
    __asm volatile("dsb\n isb");
    memcpy(&data_start, &data_load, (size_t)((uint8_t *)&data_end - (uint8_t *)&data_start));
    memset(&bss_start, 0, (size_t)((uint8_t *)&bss_end - (uint8_t *)&bss_start));
    board_exit(main() != 0);
}

typedef union
{
    const uint32_t *stack;
    void (*handler)(void);
} vector;
__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = &stack_top}, {.handler = reset}, {.handler = fault},          {.handler = fault},
    {.handler = fault},    {.handler = fault}, {.handler = fault},          {.handler = NULL},
    {.handler = NULL},     {.handler = NULL},  {.handler = NULL},           {.handler = SVC_Handler},
    {.handler = NULL},     {.handler = NULL},  {.handler = PendSV_Handler}, {.handler = SysTick_Handler}};
