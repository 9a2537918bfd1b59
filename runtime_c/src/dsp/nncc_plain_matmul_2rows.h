/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_plain_matmul_2rows.h: two pixels by four channels without the DSP extension.
 *
 * Thumb-2: an input is 1 LDRD, 4 LDRSB and 8 MLA for 8 MACs: per MAC 0.75 words loaded by 0.63 instructions, 1 MAC, no
 * others; the loop holds eight inputs and is entered where the first round is short. Thumb-1 has no room for eight
 * sums: both pixels share a word and one multiplication gives both products, for one channel at a time. Both products
 * of two inputs and half a unit of the upper half word are added, so that the lower half is not negative: the sum of
 * all upper halves is the second pixel's, the first one's is what remains of the whole. Two inputs are 2 LDR, 2 LDRB, 2
 * SXTB, 2 MULS and 5 others for 4 MACs: per MAC 1 load, 0.5 multiplications, 1.75 others.
 *
 * Weights of 4 bits (FOURS): those of four channels for an input are half a word, a weight is SBFX in place of LDRSB
 * and an input one LDRH more. Thumb-1 has a loop for each channel, because shifts have constant distances: two shifts
 * where bytes take LDRB and SXTB, and two inputs one LDR more.
 */
#ifndef NNCC_PLAIN_MATMUL_2ROWS_H
#define NNCC_PLAIN_MATMUL_2ROWS_H

#include "nncc_plain_core.h"

#if NNCC_PLAIN_ASM

#define NNCC_WEIGHT(a, b) "ldrsb r12, [r1], #1\n mla " a ", r10, r12, " a "\n mla " b ", r11, r12, " b "\n"
#define NNCC_BYTES_INPUT \
    "ldrd r10, r11, [r0], #8\n" NNCC_WEIGHT("r2", "r3") NNCC_WEIGHT("r4", "r5") NNCC_WEIGHT("r6", "r7") \
        NNCC_WEIGHT("r8", "r9")
#define NNCC_BYTES_CODE "52" /* bytes of an input's instructions */
#define NNCC_BYTES_SHIFT "2" /* an input's weights are so many bytes, as a power of two */
#define NNCC_FOUR(at, a, b) "sbfx r12, lr, #" at ", #4\n mla " a ", r10, r12, " a "\n mla " b ", r11, r12, " b "\n"
#define NNCC_FOURS_INPUT \
    "ldrd r10, r11, [r0], #8\n ldrh lr, [r1], #2\n" NNCC_FOUR("0", "r2", "r3") NNCC_FOUR("4", "r4", "r5") \
        NNCC_FOUR("8", "r6", "r7") NNCC_FOUR("12", "r8", "r9")
#define NNCC_FOURS_CODE "56"
#define NNCC_FOURS_SHIFT "1"
#define NNCC_CHANNEL(a, b) \
    "ldm r1!, {r10, r11, r12}\n" NNCC_PLAIN_OUTPUT(a, "r10", "r11", "r12", "lr", "r0") \
        NNCC_PLAIN_OUTPUT(b, "r10", "r11", "r12", "lr", "r0")
#define NNCC_BOUNDED(a) NNCC_PLAIN_CLAMP(a, "r11")

/* Frame: 0 x, 4 entry, 8 end of x, 12 y, 16 y_step, 20 end of w, 24 low or table, 28 255 - cap. */
#define NNCC_PLAIN_MAT2(WEIGHTS, BOUND, LOW) \
    ".syntax unified\n" \
    "push {r4-r11, lr}\n" \
    "sub sp, #36\n" \
    "ldm r0, {r4-r9}\n" \
    "add r11, r1, r5, lsl #3\n" \
    "str r1, [sp]\n" \
    "strd r11, r3, [sp, #8]\n" \
    "lsl r10, r5, #" NNCC_##WEIGHTS##_SHIFT "\n" \
                                            "add r10, r10, #64\n" \
                                            "mla r10, r10, r4, r2\n" \
                                            "strd r6, r10, [sp, #16]\n" BOUND "strd r8, r9, [sp, #24]\n" \
                                            "mov r1, r2\n" \
                                            "rsb r5, r5, #0\n" \
                                            "and r5, r5, #7\n" /* inputs missing in the first round */ \
                                            "movs r6, #" NNCC_##WEIGHTS##_CODE "\n" \
                                                                               "adr r7, 2f\n" \
                                                                               "mla r5, r5, r6, r7\n" \
                                                                               "orr r5, r5, #1\n" \
                                                                               "str r5, [sp, #4]\n" \
                                                                               "1:\n" \
                                                                               "ldm r1!, {r2, r4, r6, r8}\n" \
                                                                               "ldrd r0, r10, [sp]\n" \
                                                                               "mov r3, r2\n" \
                                                                               "mov r5, r4\n" \
                                                                               "mov r7, r6\n" \
                                                                               "mov r9, r8\n" \
                                                                               "bx r10\n" \
                                                                               ".p2align 2\n" \
                                                                               "2:\n" \
                                                                               ".rept 8\n" NNCC_##WEIGHTS##_INPUT \
        ".endr\n" \
        "ldr r10, [sp, #8]\n" \
        "cmp r0, r10\n" \
        "bne.w 2b\n" NNCC_CHANNEL("r2", "r3") NNCC_CHANNEL("r4", "r5") NNCC_CHANNEL("r6", "r7") NNCC_CHANNEL( \
            "r8", \
            "r9") "ldrd r10, r11, [sp, #24]\n" \
                  "cmp r11, #255\n" \
                  "beq 3f\n" NNCC_BOUNDED("r2") NNCC_BOUNDED("r3") NNCC_BOUNDED("r4") NNCC_BOUNDED("r5") NNCC_BOUNDED( \
                      "r6") NNCC_BOUNDED("r7") NNCC_BOUNDED("r8") NNCC_BOUNDED("r9") "3:\n" LOW("r2") LOW("r3") \
                      LOW("r4") LOW("r5") LOW("r6") LOW("r7") LOW("r8") LOW( \
                          "r9") "ldrd r10, r11, [sp, #12]\n" \
                                "ldr r12, [sp, #20]\n" \
                                "add r11, r11, r10\n" \
                                "strb r3, [r11], #1\n strb r5, [r11], #1\n strb r7, [r11], #1\n strb r9, [r11]\n" \
                                "strb r2, [r10], #1\n strb r4, [r10], #1\n strb r6, [r10], #1\n strb r8, [r10], #1\n" \
                                "str r10, [sp, #12]\n" \
                                "cmp r1, r12\n" \
                                "bne.w 1b\n" \
                                "add sp, #36\n" \
                                "pop {r4-r11, pc}\n"

/* BOUND makes r8 what LOW adds or looks up, and r9 the bound, of low and cap there. */
#define NNCC_CLAMP_BOUND NNCC_PLAIN_BOUND("r8", "r9")
#define NNCC_CLAMP_LOW(a) NNCC_PLAIN_LOW(a, "r10")
#define NNCC_TABLE_BOUND "ldr r8, [r0, #28]\n movs r9, #255\n"
#define NNCC_TABLE_LOW(a) "ldrb " a ", [r10, " a "]\n"

#elif NNCC_THUMB1_ASM

#define NNCC_BLOCK(at0, at1) \
    "ldrb r2, [r1, #" at0 "]\n sxtb r2, r2\n ldr r3, [r0, #" at0 "]\n muls r2, r3\n" \
    "ldrb r3, [r1, #" at1 "]\n sxtb r3, r3\n ldr r4, [r0, #" at1 "]\n muls r3, r4\n" \
    "adds r2, r2, r3\n adds r2, r2, r7\n adds r5, r5, r2\n asrs r2, r2, #16\n adds r6, r6, r2\n"

#define NNCC_BYTES_CODE "13" /* instructions of an input, twice as many as two take */
#define NNCC_BYTES_SHIFT "2" /* an input's weights are so many bytes, as a power of two */
#define NNCC_BYTES_FIRST
#define NNCC_BYTES_ENTRY "12"
#define NNCC_BYTES_NEXT "mov r3, r10\n adds r3, #1\n mov r10, r3\n"
#define NNCC_BYTES_LOOPS \
    "3:\n" NNCC_BLOCK("0", "4") NNCC_BLOCK("8", "12") NNCC_BLOCK("16", "20") \
        NNCC_BLOCK("24", "28") "adds r0, #32\n adds r1, #32\n cmp r0, r8\n bne 3b\n"

/* The weights of a channel are from bits low and high of a word on, shifted to its end. */
#define NNCC_FOURS_BLOCK(low, high, at, at0, at1) \
    "ldr r7, [r1, #" at "]\n" \
    "lsls r2, r7, #" low "\n asrs r2, r2, #28\n ldr r3, [r0, #" at0 "]\n muls r2, r3\n" \
    "lsls r3, r7, #" high "\n asrs r3, r3, #28\n ldr r4, [r0, #" at1 "]\n muls r3, r4\n" \
    "adds r2, r2, r3\n add r2, lr\n adds r5, r5, r2\n asrs r2, r2, #16\n adds r6, r6, r2\n"
#define NNCC_FOURS_LOOP(low, high) \
    "3:\n" NNCC_FOURS_BLOCK(low, high, "0", "0", "4") NNCC_FOURS_BLOCK(low, high, "4", "8", "12") \
        NNCC_FOURS_BLOCK(low, high, "8", "16", "20") NNCC_FOURS_BLOCK( \
            low, high, "12", "24", "28") "adds r0, #32\n adds r1, #16\n cmp r0, r8\n bne 3b\n b 6f\n nop\n"
#define NNCC_FOURS_CODE "14"
#define NNCC_FOURS_SHIFT "1"
#define NNCC_FOURS_FIRST "ldr r1, [sp, #12]\n str r1, [sp, #44]\n"
#define NNCC_FOURS_ENTRY "44"
#define NNCC_FOURS_NEXT "ldr r3, [sp, #44]\n adds r3, #124\n str r3, [sp, #44]\n" /* a loop has 124 bytes */
#define NNCC_FOURS_LOOPS \
    NNCC_FOURS_LOOP("28", "12") NNCC_FOURS_LOOP("24", "8") NNCC_FOURS_LOOP("20", "4") NNCC_FOURS_LOOP("16", "0")

/*
 * In the loop r0 inputs, r1 weights, r5 the whole sum, r6 that of the upper halves, r7 half a unit (bytes) or a word
 * of weights (FOURS). r8 end of x, r9 start value, r10 weights, r11 {m, c, s} of the channel, r12 y, lr 0x8000. Inputs
 * missing in the first round are skipped by its entry; x and weights begin so much earlier. Frame: 0 x, 4 bound, 8 low
 * or table, 12 entry, 16 half units of all pairs, 20 y_step, 24 groups left, 28 bytes of weights, 32 skipped bytes, 36
 * lanes, 40 lanes left, 44 entry into the channel's loop (FOURS).
 */
#define NNCC_PLAIN_MAT2(WEIGHTS, BOUND, LOW) \
    ".syntax unified\n" \
    "push {r4-r7, lr}\n" \
    "mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n" \
    "push {r4-r7}\n" \
    "sub sp, #48\n" \
    "mov r12, r3\n mov r9, r2\n" \
    "ldm r0!, {r4-r7}\n" \
    "ldm r0!, {r2, r3}\n" BOUND "ldr r0, [r0]\n str r0, [sp, #36]\n" \
    "str r3, [sp, #4]\n str r2, [sp, #8]\n str r6, [sp, #20]\n str r4, [sp, #24]\n" \
    "lsls r2, r5, #2\n adds r3, r1, r2\n mov r8, r3\n" \
    "lsls r2, r5, #" NNCC_##WEIGHTS##_SHIFT "\n str r2, [sp, #28]\n" \
                                            "lsls r3, r5, #14\n str r3, [sp, #16]\n" \
                                            "rsbs r5, r5, #0\n movs r3, #7\n ands r5, r3\n" \
                                            "lsls r3, r5, #2\n subs r1, r1, r3\n str r1, [sp]\n" \
                                            "lsls r3, r5, #" NNCC_##WEIGHTS##_SHIFT "\n str r3, [sp, #32]\n" \
                                                                                    "movs r3, #" NNCC_##WEIGHTS##_CODE \
        "\n muls r5, r3\n" \
        "adr r3, 3f\n adds r5, r5, r3\n adds r5, #1\n str r5, [sp, #12]\n" \
        "movs r0, #128\n lsls r0, r0, #8\n mov lr, r0\n" \
        "1:\n" /* a group: its words at r9 */ \
        "mov r0, r9\n adds r0, #16\n" \
        "ldr r1, [sp, #28]\n adds r1, r1, r0\n mov r11, r1\n" \
        "ldr r1, [sp, #32]\n subs r0, r0, r1\n mov r10, r0\n" \
        "ldr r1, [sp, #36]\n str r1, [sp, #40]\n" NNCC_##WEIGHTS##_FIRST \
        "2:\n" /* a channel */ \
        "mov r0, r9\n ldm r0!, {r6}\n mov r9, r0\n" \
        "lsls r5, r6, #16\n adds r5, r5, r6\n ldr r0, [sp, #16]\n subs r5, r5, r0\n" \
        "ldr r0, [sp]\n mov r1, r10\n mov r7, lr\n" \
        "ldr r2, [sp, #" NNCC_##WEIGHTS##_ENTRY "]\n" \
                                                "bx r2\n" \
                                                ".p2align 2\n" NNCC_##WEIGHTS##_LOOPS \
        "6: lsls r2, r6, #16\n subs r2, r5, r2\n" \
        "mov r3, r11\n" NNCC_THUMB1_SCALE("r6") NNCC_THUMB1_BOUNDED("4") \
            LOW("r0") "mov r1, r12\n ldr r4, [sp, #20]\n strb r0, [r1, r4]\n" \
                      "mov r3, r11\n" NNCC_THUMB1_SCALE("r2") "mov r11, r3\n" NNCC_THUMB1_BOUNDED("4") \
                          LOW("r0") "mov r1, r12\n strb r0, [r1]\n adds r1, #1\n mov r12, r1\n" NNCC_##WEIGHTS##_NEXT \
        "ldr r3, [sp, #40]\n subs r3, #1\n str r3, [sp, #40]\n" \
        "beq 4f\n" \
        "b 2b\n" \
        "4:\n" \
        "mov r9, r11\n" \
        "ldr r3, [sp, #24]\n subs r3, #1\n str r3, [sp, #24]\n" \
        "beq 5f\n" \
        "b 1b\n" \
        "5:\n" \
        "add sp, #48\n" \
        "pop {r4-r7}\n" \
        "mov r8, r4\n mov r9, r5\n mov r10, r6\n mov r11, r7\n" \
        "pop {r4-r7, pc}\n"

/* BOUND makes r2 what LOW adds or looks up, and r3 the bound, of low and cap there; the table is 4 bytes after r0. */
#define NNCC_CLAMP_BOUND "uxtb r2, r2\n mvns r3, r3\n uxtb r3, r3\n"
#define NNCC_CLAMP_LOW(a) "adds " a ", " a ", r1\n"
#define NNCC_TABLE_BOUND "ldr r2, [r0, #4]\n movs r3, #255\n"
#define NNCC_TABLE_LOW(a) "ldrb " a ", [r1, " a "]\n"

#elif NNCC_THUMB1

/*
 * Two inputs of a channel: a word is the second row's input times 2^16 and the first one's, so a product is both. Half
 * a unit of the upper half makes the lower one not negative.
 */
#define NNCC_PLAIN_TWO(i, first, second) \
    do { \
        const int32_t a = (first), p = a * x[i], b = (second), q = b * x[(i) + 1]; \
        const uint32_t v = (uint32_t)p + (uint32_t)q + half; \
        whole += v; \
        upper += (int32_t)v >> 16; \
    } while (0)
#define NNCC_PLAIN_BYTES(i) NNCC_PLAIN_TWO(i, w[4 * (i)], w[4 * (i) + 4])
/* Weights of 4 bits of channel c, from the words of two inputs. */
#define NNCC_PLAIN_FOURS(i, c) \
    do { \
        const uint32_t fours = words[(i) / 2]; \
        NNCC_PLAIN_TWO(i, (int32_t)(fours << (28 - 4 * (c))) >> 28, (int32_t)(fours << (12 - 4 * (c))) >> 28); \
    } while (0)
/* The loop of a channel: STEP is two inputs, which move on. Two steps a turn have no registers. */
#define NNCC_PLAIN_LOOP_OF(STEP, w, words) \
    do { \
        NNCC_ROLLED \
        while (x != end) { \
            STEP(0); \
            x += 2; \
            w += words; \
        } \
    } while (0)
#define NNCC_PLAIN_FOURS0(i) NNCC_PLAIN_FOURS(i, 0)
#define NNCC_PLAIN_FOURS1(i) NNCC_PLAIN_FOURS(i, 1)
#define NNCC_PLAIN_FOURS2(i) NNCC_PLAIN_FOURS(i, 2)
#define NNCC_PLAIN_FOURS3(i) NNCC_PLAIN_FOURS(i, 3)

/*
 * What n inputs add to the sums of a channel, of the first row in the lower word and of the second one in the upper.
 * Functions of their own, whose loops have the lower registers and little else to keep; half is volatile because a
 * constant would be made anew for every use.
 */
#define NNCC_PLAIN_BEGIN \
    const volatile uint32_t unit = 0x8000u; \
    const uint32_t half = unit; \
    const int32_t *const end = x + n; \
    uint32_t whole = 0u - ((uint32_t)n << 14); \
    int32_t upper = 0
#define NNCC_PLAIN_BOTH (((uint64_t)(uint32_t)upper << 32) | (whole - ((uint32_t)upper << 16)))

NNCC_DSP_AS_WRITTEN NNCC_PLAIN_APART static uint64_t nncc_plain_sums_of_bytes(const int32_t *x, const int8_t *w,
                                                                              int32_t n)
{
    NNCC_PLAIN_BEGIN;

    NNCC_PLAIN_LOOP_OF(NNCC_PLAIN_BYTES, w, 8);
    return NNCC_PLAIN_BOTH;
}

NNCC_DSP_AS_WRITTEN NNCC_PLAIN_APART static uint64_t nncc_plain_sums_of_fours(const int32_t *x, const uint32_t *words,
                                                                              int32_t n, int32_t channel)
{
    NNCC_PLAIN_BEGIN;

    if (channel == 0) { /* shifts have constant distances */
        NNCC_PLAIN_LOOP_OF(NNCC_PLAIN_FOURS0, words, 1);
    } else if (channel == 1) {
        NNCC_PLAIN_LOOP_OF(NNCC_PLAIN_FOURS1, words, 1);
    } else if (channel == 2) {
        NNCC_PLAIN_LOOP_OF(NNCC_PLAIN_FOURS2, words, 1);
    } else {
        NNCC_PLAIN_LOOP_OF(NNCC_PLAIN_FOURS3, words, 1);
    }
    return NNCC_PLAIN_BOTH;
}

static inline void nncc_plain_products(const nncc_dsp_matmul_params *p, const int32_t *x, int32_t fours, int32_t table,
                                       const int32_t *w, int8_t *y)
{
    for (int32_t g = 0; g < p->groups; g++) {
        const int32_t *mcs = w + 4 + (fours != 0 ? (p->pairs + 1) >> 1 : p->pairs);

        for (int32_t c = 0; c < 4; c++) {
            const uint64_t both =
                fours != 0 ? nncc_plain_sums_of_fours(x, (const uint32_t *)(const void *)(w + 4), p->pairs, c)
                           : nncc_plain_sums_of_bytes(x, (const int8_t *)(w + 4) + c, p->pairs);
            const int32_t start = w[c], second = (int32_t)(both >> 32);

            y[p->y_step] = nncc_dsp_result(p, table, nncc_plain_scaled(start + second, mcs));
            *y = nncc_dsp_result(p, table, nncc_plain_scaled(start + (int32_t)both, mcs));
            mcs += 3;
            y++;
        }
        w = mcs;
    }
}

#else

/*
 * Clang leaves volatile loads where they are, and makes LDRD of one of 64 bits; of others it has too many at once, and
 * so it has of several inputs a turn.
 */
#if defined(__clang__)
typedef const volatile int64_t __attribute__((aligned(4), may_alias)) nncc_plain_two;
#define NNCC_PLAIN_BYTE(w, i) (((const volatile int8_t *)(w))[i])
#define NNCC_PLAIN_INPUT(u, v, x) \
    const int64_t both = *(nncc_plain_two *)(const void *)(x); \
    const int32_t u = (int32_t)both, v = (int32_t)(both >> 32)
#else
#define NNCC_PLAIN_BYTE(w, i) (w)[i]
#define NNCC_PLAIN_INPUT(u, v, x) const int32_t u = (x)[0], v = (x)[1]
#endif

/* An input of two rows by a channel. */
#define NNCC_PLAIN_CHANNEL(fours, i, s, t) \
    do { \
        const int32_t weight = (fours) != 0 ? nncc_plain_weight(w, 1, i) : NNCC_PLAIN_BYTE(w, i); \
        s += u * weight; \
        t += v * weight; \
    } while (0)
/* And by four. */
#define NNCC_PLAIN_TWO(fours) \
    do { \
        NNCC_PLAIN_INPUT(u, v, x); \
        x += 2; \
        NNCC_PLAIN_CHANNEL(fours, 0, a, e); \
        NNCC_PLAIN_CHANNEL(fours, 1, b, f); \
        NNCC_PLAIN_CHANNEL(fours, 2, c, g); \
        NNCC_PLAIN_CHANNEL(fours, 3, d, h); \
        w += (fours) != 0 ? 2 : 4; \
    } while (0)

#if defined(__clang__)
#define NNCC_PLAIN_TURN(fours) NNCC_PLAIN_TWO(fours)
#else
#define NNCC_PLAIN_TURN(fours) \
    do { \
        NNCC_PLAIN_TWO(fours); \
        NNCC_PLAIN_TWO(fours); \
        NNCC_PLAIN_TWO(fours); \
        NNCC_PLAIN_TWO(fours); \
    } while (0)
#endif

/* Sums of the first row and of the second one; the end of a loop with all registers is on the stack. */
NNCC_DSP_AS_WRITTEN NNCC_APART static void nncc_plain_sums_of_two(const int32_t *x, const int8_t *w, int32_t n,
                                                                  int32_t fours, int32_t *sums)
{
    const int32_t *volatile const end = x + 2 * n;
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3], e = a, f = b, g = c, h = d;

#if !defined(__clang__)
    for (const int32_t *const first = x + 2 * (n & 3); x != first;) {
        NNCC_PLAIN_TWO(fours);
    }
#endif
    NNCC_ROLLED
    while (x != end) {
        NNCC_PLAIN_TURN(fours);
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
    sums[4] = e;
    sums[5] = f;
    sums[6] = g;
    sums[7] = h;
}

/* nncc_dsp_result by USAT. */
static inline int32_t nncc_plain_result(const nncc_dsp_matmul_params *p, int32_t table, int32_t v)
{
#ifdef NNCC_USAT
    const int32_t bound = 255 - (int32_t)(p->cap & 255u);

    v = NNCC_USAT(v, 8);
    if (table != 0) {
        return (int8_t)p->table[v];
    }
    return nncc_dsp_byte((v > bound ? bound : v) + (int32_t)(p->low & 255u));
#else
    return nncc_dsp_result(p, table, v);
#endif
}

static inline void nncc_plain_products(const nncc_dsp_matmul_params *p, const int32_t *x, int32_t fours, int32_t table,
                                       const int32_t *w, int8_t *y)
{
    const nncc_dsp_matmul_params to = *p; /* a stored byte may change what p points to */

    for (int32_t g = 0; g < to.groups; g++) {
        const int32_t *mcs = w + 4 + (fours != 0 ? (to.pairs + 1) >> 1 : to.pairs);
        int32_t sums[8] = {w[0], w[1], w[2], w[3]};

        nncc_plain_sums_of_two(x, (const int8_t *)(w + 4), to.pairs, fours, sums);
        NNCC_ROLLED
        for (int32_t c = 0; c < 4; c++) {
            const int32_t scale[3] = {mcs[0], mcs[1], mcs[2]};
            const int32_t second = nncc_plain_result(&to, table, nncc_plain_scaled(sums[4 + c], scale));

            y[to.y_step] = (int8_t)second;
            *y++ = (int8_t)nncc_plain_result(&to, table, nncc_plain_scaled(sums[c], scale));
            mcs += 3;
        }
        w = mcs;
    }
}

#endif

#endif /* NNCC_PLAIN_MATMUL_2ROWS_H */
