/* SPDX-License-Identifier: Apache-2.0 */
__attribute__((naked)) void bare(void) {
    __asm volatile(".syntax unified\npush {r4-r11, lr}\n sub sp, #20\n strd r0, r1, [sp, #-16]!\n str r2, [sp, #-8]!\n"
                   "adr r6, 2f\n orr r10, r6, #1\n bx r10\n .p2align 2\n2: nop\n add sp, #44\n pop {r4-r11, pc}\n");
}
void calls(void) { bare(); __asm volatile("" ::: "memory"); }
