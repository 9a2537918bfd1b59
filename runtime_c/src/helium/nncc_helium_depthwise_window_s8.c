/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_windows.h"

#if NNCC_HELIUM_ASM

#define NNCC_WINDOW_PIXEL(x, acc) "vldrb.8 q0, [" x "], #16\nvmladava.s8 " acc ", q0, q1\n"

/*
 * r1, r5, r7 and r9 four windows (r7 is pushed: the frame pointer of unoptimised builds), r8 weights, r3 results, r10
 * how many are left of the row, r12 the next window; q7 has the places of four results.
 */
void nncc_helium_depthwise_window_s8(nncc_helium_windows *frame)
{
    NNCC_REG(nncc_helium_windows *, f, "r11", frame);

    /* clang-format off */
    __asm volatile("push {r7}\n"
                   "ldr r2, [%[f], #32]\n"
                   "ldr r0, [%[f], #44]\n"
                   "vdup.32 q2, r0\n"
                   "vldrw.32 q3, [%[f], #16]\n"
                   "movs r0, #0\n"
                   "vidup.u32 q7, r0, #1\n"
                   "lsr r2, r2, #2\n"
                   "vmul.i32 q7, q7, r2\n"
                   "1:\n" /* a channel */
                   "ldrd r12, r3, [%[f], #56]\n"
                   "ldr r6, [%[f], #48]\n"
                   "2:\n" /* a row: r6 are left */
                   "str r6, [%[f], #72]\n"
                   "strd r12, r3, [%[f], #88]\n"
                   "ldrd r0, r10, [%[f]]\n"
                   "add r10, r10, r0, lsl #2\n"
                   "3:\n"
                   "ldr r8, [%[f], #64]\n"
                   "ldr r0, [%[f], #36]\n"
                   "add r8, r8, #16\n"
                   "mov r1, r12\n"
                   "add r5, r1, r0\n"
                   "add r7, r5, r0\n"
                   "add r9, r7, r0\n"
                   "add r12, r9, r0\n"
                   "movs r0, #0\n"
                   "movs r2, #0\n"
                   "movs r4, #0\n"
                   "movs r6, #0\n"
                   "ldr lr, [%[f], #84]\n"
                   "dls lr, lr\n"
                   "4:\n"
                   "vldrw.32 q1, [r8], #16\n"
                   NNCC_WINDOW_PIXEL("r1", "r0") NNCC_WINDOW_PIXEL("r5", "r2") NNCC_WINDOW_PIXEL("r7", "r4")
                   NNCC_WINDOW_PIXEL("r9", "r6")
                   "le lr, 4b\n"
                   "vmov q1[2], q1[0], r0, r4\n"
                   "vmov q1[3], q1[1], r2, r6\n"
                   "ldr r8, [%[f], #64]\n"
                   "ldrd r0, r2, [r8]\n"
                   "ldr r4, [r8, #8]\n"
                   "ldr r6, [%[f], #40]\n"
                   "vadd.i32 q1, q1, r0\n"
                   "vqrdmulh.s32 q1, q1, r2\n"
                   NNCC_ROUND_ALL(q1, q0)
                   "vrshl.s32 q1, r4\n"
                   "vctp.32 r10\n"
                   "vadd.i32 q1, q1, r6\n"
                   "vmax.s32 q1, q1, q2\n"
                   "vmin.s32 q1, q1, q3\n"
                   "vpst\n"
                   "vstrbt.32 q1, [r3, q7]\n"
                   "ldr r0, [%[f], #32]\n"
                   "add r3, r3, r0\n"
                   "subs r10, r10, #4\n"
                   "bgt 3b\n"
                   "ldrd r12, r3, [%[f], #88]\n"
                   "ldr r0, [%[f], #68]\n"
                   "ldr r2, [%[f], #52]\n"
                   "add r12, r12, r0\n"
                   "add r3, r3, r2\n"
                   "ldr r6, [%[f], #72]\n"
                   "subs r6, r6, #1\n"
                   "bne 2b\n"
                   "ldrd r12, r3, [%[f], #56]\n"
                   "ldrd r0, r2, [%[f], #76]\n"
                   "ldr r4, [%[f], #84]\n"
                   "add r12, r12, r0\n"
                   "adds r3, r3, #1\n"
                   "strd r12, r3, [%[f], #56]\n"
                   "ldr r8, [%[f], #64]\n"
                   "add r8, r8, r4, lsl #4\n"
                   "add r8, r8, #16\n"
                   "str r8, [%[f], #64]\n"
                   "subs r2, r2, #1\n"
                   "str r2, [%[f], #80]\n"
                   "bne 1b\n"
                   "pop {r7}\n"
                   :
                   : [f] "r"(f)
                   : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r12", "lr", "q0", "q1", "q2", "q3",
                     "q7", "cc", "memory");
    /* clang-format on */
}

#else

void nncc_helium_depthwise_window_s8(nncc_helium_windows *f)
{
    nncc_window_each(f, f->vectors);
}

#endif
