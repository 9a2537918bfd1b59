/* SPDX-License-Identifier: Apache-2.0 */

void _start(void);
void reset(void);
extern char stack_top[];
__attribute__((section(".vectors"), used)) static const void *const vectors[] = {stack_top, (const void *)reset};
void reset(void)
{
    *(volatile unsigned *)0xE000ED88u |= 0xFu << 20; /* the FPU on */
    __asm volatile("dsb\n isb");
    _start();
}
