/*
 * nncc_plain_products_s8: the sums of two pixels for one channel without room for more (Thumb-1). Two inputs of both pixels
 * are 2 LDR, 2 LDRB, 2 SXTB, 2 MULS and 5 others for 4 MACs: per MAC 1 load, 0.5 multiplications, 1.75 others.
 *
 * Both products of two inputs and half a unit of the upper half word are added, so that the lower half is not negative: the
 * sum of all upper halves is the second pixel's, the first one's is what remains of the whole.
 */
#include "nncc_dsp_core.h"

#if defined(__thumb__) && !defined(__thumb2__) && defined(__GNUC__) && !defined(NNCC_DSP_PORTABLE)

#define NNCC_BLOCK(x0, x1, w0, w1)                                                                                      \
    "ldrb r2, [r1, #" w0 "]\n sxtb r2, r2\n ldr r3, [r0, #" x0 "]\n muls r2, r3\n"                                      \
    "ldrb r3, [r1, #" w1 "]\n sxtb r3, r3\n ldr r4, [r0, #" x1 "]\n muls r3, r4\n"                                      \
    "adds r2, r2, r3\n adds r2, r2, r7\n adds r5, r5, r2\n asrs r2, r2, #16\n adds r6, r6, r2\n"

/* r5 is the whole sum, r6 that of the upper halves, r7 half a unit, r8 the end of x. */
__attribute__((naked)) int32_t nncc_plain_products_s8(
    __attribute__((unused)) const int32_t *x, __attribute__((unused)) const int8_t *w, __attribute__((unused)) int32_t inputs,
    __attribute__((unused)) int32_t *second)
{
    __asm volatile(
        ".syntax unified\n"
        "push {r2-r7, lr}\n"
        "mov r4, r8\n"
        "push {r4}\n"
        "lsls r4, r2, #2\n"
        "adds r4, r4, r0\n"
        "mov r8, r4\n"
        "movs r5, #0\n"
        "movs r6, #0\n"
        "movs r7, #128\n"
        "lsls r7, r7, #8\n"
        "movs r4, #7\n"
        "ands r4, r2\n"
        "beq 2f\n"
        "mov r12, r4\n"
        "1:\n"
        NNCC_BLOCK("0", "4", "0", "4")
        "adds r0, #8\n"
        "adds r1, #8\n"
        "mov r4, r12\n"
        "subs r4, #2\n"
        "mov r12, r4\n"
        "bne 1b\n"
        "2:\n"
        "cmp r0, r8\n"
        "beq 4f\n"
        "3:\n"
        NNCC_BLOCK("0", "4", "0", "4") NNCC_BLOCK("8", "12", "8", "12")
        NNCC_BLOCK("16", "20", "16", "20") NNCC_BLOCK("24", "28", "24", "28")
        "adds r0, #32\n"
        "adds r1, #32\n"
        "cmp r0, r8\n"
        "bne 3b\n"
        "4:\n"
        "pop {r4}\n"
        "mov r8, r4\n"
        "pop {r2, r3}\n"
        "str r6, [r3]\n"
        "lsls r6, r6, #16\n"
        "subs r5, r5, r6\n"
        "lsls r2, r2, #14\n"
        "subs r0, r5, r2\n"
        "pop {r4-r7, pc}\n");
}

#else

int32_t nncc_plain_products_s8(const int32_t *x, const int8_t *w, int32_t inputs, int32_t *second)
{
    uint32_t total = 0;
    int32_t upper = 0;

    for (int32_t k = 0; k < inputs; k += 2) {
        const uint32_t t = (uint32_t)x[k] * (uint32_t)w[4 * k] + (uint32_t)x[k + 1] * (uint32_t)w[4 * k + 4] + 0x8000u;

        total += t;
        upper += (int32_t)t >> 16;
    }
    *second = upper;
    return (int32_t)(total - ((uint32_t)upper << 16)) - 0x4000 * inputs;
}

#endif
