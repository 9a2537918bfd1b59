/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_depthwise_window.h: the body of nncc_helium_depthwise_window_k1_s8 and its like: windows of four
 * neighbouring outputs of a channel, each n vectors in scratch. An including file defines NNCC_WINDOW_VECTORS (1 to 4),
 * NNCC_WINDOW_STEP (bytes from a window to the next, at most 24; 0: any number, from the frame) and NNCC_WINDOW_ROUND
 * (NNCC_ROUND_ALL or NNCC_ROUND_RELU).
 */
#ifndef NNCC_HELIUM_DEPTHWISE_WINDOW_H
#define NNCC_HELIUM_DEPTHWISE_WINDOW_H

#include "nncc_helium_windows.h"

#if NNCC_HELIUM_ASM

/* Weights are in q4, q5, q6 and q3, which otherwise has the upper clamp. */
#define NNCC_WINDOW_LOAD1 "vldrw.32 q4, [r4, #16]\n"
#define NNCC_WINDOW_LOAD2 NNCC_WINDOW_LOAD1 "vldrw.32 q5, [r4, #32]\n"
#define NNCC_WINDOW_LOAD3 NNCC_WINDOW_LOAD2 "vldrw.32 q6, [r4, #48]\n"
#define NNCC_WINDOW_MAC(acc, at, op, w) "vldrb.8 q0, [r1, #" at "]\n" op " " acc ", q0, " w "\n"
#define NNCC_WINDOW_HI ""
#define NNCC_WINDOW_UPPER "q3"

/* Vectors behind the first one, at the bytes `at` from r1. */
#if NNCC_WINDOW_VECTORS == 1
#define NNCC_WINDOW_LOAD NNCC_WINDOW_LOAD1
#define NNCC_WINDOW_MORE(acc, at) ""
#elif NNCC_WINDOW_VECTORS == 2
#define NNCC_WINDOW_LOAD NNCC_WINDOW_LOAD2
#define NNCC_WINDOW_MORE(acc, at) NNCC_WINDOW_MAC(acc, at "+16", "vmladava.s8", "q5")
#else
#define NNCC_WINDOW_THIRD(acc, at) \
    NNCC_WINDOW_MAC(acc, at "+16", "vmladava.s8", "q5") NNCC_WINDOW_MAC(acc, at "+32", "vmladava.s8", "q6")
#if NNCC_WINDOW_VECTORS == 3
#define NNCC_WINDOW_LOAD NNCC_WINDOW_LOAD3
#define NNCC_WINDOW_MORE(acc, at) NNCC_WINDOW_THIRD(acc, at)
#else
#define NNCC_WINDOW_LOAD NNCC_WINDOW_LOAD3 "vldrw.32 q3, [r4, #64]\n"
#define NNCC_WINDOW_MORE(acc, at) NNCC_WINDOW_THIRD(acc, at) NNCC_WINDOW_MAC(acc, at "+48", "vmladava.s8", "q3")
#undef NNCC_WINDOW_HI
#define NNCC_WINDOW_HI "vldrw.32 q0, [%[f], #16]\n"
#undef NNCC_WINDOW_UPPER
#define NNCC_WINDOW_UPPER "q0"
#endif
#endif

#define NNCC_WINDOW_STR2(x) #x
#define NNCC_WINDOW_STR(x) NNCC_WINDOW_STR2(x)
#define NNCC_WINDOW_ONE(acc, at) NNCC_WINDOW_MAC(acc, at, "vmladav.s8", "q4") NNCC_WINDOW_MORE(acc, at)

/* The sums of four windows to r0, r2, r4 and r6; r1 moves on to the next four. */
#if NNCC_WINDOW_STEP > 0
#define NNCC_WINDOW_AT(k) NNCC_WINDOW_STR(k *NNCC_WINDOW_STEP)
#define NNCC_WINDOW_FOUR \
    NNCC_WINDOW_ONE("r2", NNCC_WINDOW_AT(1)) \
    NNCC_WINDOW_ONE("r4", NNCC_WINDOW_AT(2)) NNCC_WINDOW_ONE("r6", NNCC_WINDOW_AT(3)) NNCC_WINDOW_FIRST
#define NNCC_WINDOW_NEXT "vldrb.8 q0, [r1], #" NNCC_WINDOW_AT(4) "\n"
#if NNCC_WINDOW_VECTORS == 1
#define NNCC_WINDOW_FIRST NNCC_WINDOW_NEXT "vmladav.s8 r0, q0, q4\n"
#elif NNCC_WINDOW_VECTORS == 2
#define NNCC_WINDOW_FIRST "vldrb.8 q0, [r1, #16]\nvmladav.s8 r0, q0, q5\n" NNCC_WINDOW_NEXT "vmladava.s8 r0, q0, q4\n"
#else
#define NNCC_WINDOW_FIRST3 \
    "vldrb.8 q0, [r1, #16]\nvmladav.s8 r0, q0, q5\nvldrb.8 q0, [r1, #32]\nvmladava.s8 r0, q0, q6\n"
#if NNCC_WINDOW_VECTORS == 3
#define NNCC_WINDOW_FIRST NNCC_WINDOW_FIRST3 NNCC_WINDOW_NEXT "vmladava.s8 r0, q0, q4\n"
#else
#define NNCC_WINDOW_FIRST \
    NNCC_WINDOW_FIRST3 "vldrb.8 q0, [r1, #48]\nvmladava.s8 r0, q0, q3\n" NNCC_WINDOW_NEXT "vmladava.s8 r0, q0, q4\n"
#endif
#endif
#else
#define NNCC_WINDOW_NEXT "add r1, r1, r7\n"
#define NNCC_WINDOW_FOUR \
    NNCC_WINDOW_ONE("r0", "0") \
    NNCC_WINDOW_NEXT NNCC_WINDOW_ONE("r2", "0") NNCC_WINDOW_NEXT NNCC_WINDOW_ONE("r4", "0") \
        NNCC_WINDOW_NEXT NNCC_WINDOW_ONE("r6", "0") NNCC_WINDOW_NEXT
#endif

#define NNCC_WINDOW_OUTPUT \
    "vmov q1[2], q1[0], r0, r4\nvmov q1[3], q1[1], r2, r6\nvadd.i32 q1, q1, r8\nvqrdmulh.s32 q1, q1, " \
    "r9\n" NNCC_WINDOW_ROUND(q1, q0) "vrshl.s32 q1, r10\n" NNCC_WINDOW_HI \
                                     "vadd.i32 q1, q1, r12\nvmax.s32 q1, q1, q2\nvmin.s32 q1, q1, " NNCC_WINDOW_UPPER \
                                     "\n"

/*
 * r1 windows, r3 results, r5 bytes from four results to the next, r7 bytes from a window to the next (pushed: the frame
 * pointer of unoptimised builds), r8 bias, r9 multiplier, r10 shift, r12 zero point; q7 has the places of four results.
 */
static inline void nncc_window_rows(nncc_helium_windows *frame)
{
    NNCC_REG(nncc_helium_windows *, f, "r11", frame);

    /* clang-format off */
    __asm volatile("push {r7}\n"
                   "ldrd r5, r7, [%[f], #32]\n"
                   "ldrd r12, r0, [%[f], #40]\n"
                   "vdup.32 q2, r0\n"
                   "vldrw.32 q3, [%[f], #16]\n"
                   "movs r0, #0\n"
                   "vidup.u32 q7, r0, #1\n"
                   "lsr r0, r5, #2\n"
                   "vmul.i32 q7, q7, r0\n"
                   "1:\n" /* a channel */
                   "ldr r4, [%[f], #64]\n"
                   "ldr r6, [%[f], #48]\n"
                   "ldrd r8, r9, [r4]\n"
                   "ldr r10, [r4, #8]\n"
                   NNCC_WINDOW_LOAD
                   "add r4, r4, #16+16*" NNCC_WINDOW_STR(NNCC_WINDOW_VECTORS) "\n"
                   "str r4, [%[f], #64]\n"
                   "ldrd r1, r3, [%[f], #56]\n"
                   "2:\n" /* a row: r6 are left */
                   "str r6, [%[f], #72]\n"
                   "ldr lr, [%[f]]\n"
                   "wls lr, lr, 4f\n"
                   "3:\n"
                   NNCC_WINDOW_FOUR NNCC_WINDOW_OUTPUT
                   "vstrb.32 q1, [r3, q7]\n"
                   "add r3, r3, r5\n"
                   "le lr, 3b\n"
                   "4:\n"
                   "ldr r0, [%[f], #4]\n"
                   "cmp r0, #0\n"
                   "beq.w 5f\n"
                   "vctp.32 r0\n"
                   NNCC_WINDOW_FOUR NNCC_WINDOW_OUTPUT
                   "vpst\n"
                   "vstrbt.32 q1, [r3, q7]\n"
                   "5:\n"
                   "ldrd r0, r2, [%[f], #8]\n"
                   "ldr r6, [%[f], #72]\n"
                   "add r1, r1, r0\n"
                   "add r3, r3, r2\n"
                   "subs r6, r6, #1\n"
                   "bne.w 2b\n"
                   "ldrd r1, r3, [%[f], #56]\n"
                   "ldrd r0, r2, [%[f], #76]\n"
                   "add r1, r1, r0\n"
                   "adds r3, r3, #1\n"
                   "strd r1, r3, [%[f], #56]\n"
                   "subs r2, r2, #1\n"
                   "str r2, [%[f], #80]\n"
                   "bne.w 1b\n"
                   "pop {r7}\n"
                   :
                   : [f] "r"(f)
                   : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r12", "lr", "q0", "q1", "q2", "q3",
                     "q4", "q5", "q6", "q7", "cc", "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

/* What the pointer to windows is biased by: GCC would copy it for an offset of 0 and move the copy. */
#define NNCC_WINDOW_BIAS 4
#define NNCC_WINDOW_X(x, at) vldrbq_s8((x) + NNCC_WINDOW_BIAS + (at))

/* The sum of a window. */
#if NNCC_WINDOW_VECTORS == 1
#define NNCC_WINDOW_SUM(x) vmladavq_s8(NNCC_WINDOW_X(x, 0), w0)
#elif NNCC_WINDOW_VECTORS == 2
#define NNCC_WINDOW_SUM(x) vmladavaq_s8(vmladavq_s8(NNCC_WINDOW_X(x, 0), w0), NNCC_WINDOW_X(x, 16), w1)
#elif NNCC_WINDOW_VECTORS == 3
#define NNCC_WINDOW_SUM(x) \
    vmladavaq_s8(vmladavaq_s8(vmladavq_s8(NNCC_WINDOW_X(x, 0), w0), NNCC_WINDOW_X(x, 16), w1), NNCC_WINDOW_X(x, 32), w2)
#else
#define NNCC_WINDOW_SUM(x) \
    vmladavaq_s8(vmladavaq_s8(vmladavaq_s8(vmladavq_s8(NNCC_WINDOW_X(x, 0), w0), NNCC_WINDOW_X(x, 16), w1), \
                              NNCC_WINDOW_X(x, 32), w2), \
                 NNCC_WINDOW_X(x, 48), w3)
#endif
/* Four windows at x, which is then at the next ones: steps that are not known are added one by one. */
#if NNCC_WINDOW_STEP > 0
#define NNCC_WINDOW_MOVE (void)0
#define NNCC_WINDOW_AFTER(k) ((k)*NNCC_WINDOW_STEP)
#else
#define NNCC_WINDOW_MOVE x += apart
#define NNCC_WINDOW_AFTER(k) 0
#endif
#define NNCC_WINDOW_FOUR(v) \
    v = vdupq_n_s32(NNCC_WINDOW_SUM(x)); \
    NNCC_WINDOW_MOVE; \
    v = vsetq_lane_s32(NNCC_WINDOW_SUM(x + NNCC_WINDOW_AFTER(1)), v, 1); \
    NNCC_WINDOW_MOVE; \
    v = vsetq_lane_s32(NNCC_WINDOW_SUM(x + NNCC_WINDOW_AFTER(2)), v, 2); \
    NNCC_WINDOW_MOVE; \
    v = vsetq_lane_s32(NNCC_WINDOW_SUM(x + NNCC_WINDOW_AFTER(3)), v, 3); \
    NNCC_WINDOW_MOVE; \
    x += NNCC_WINDOW_AFTER(4); \
    NNCC_WINDOW_SCALED(v, NNCC_WINDOW_ROUND)

/* The rows of a channel. */
NNCC_MVE_IN_ORDER static void nncc_window_channel(const nncc_helium_windows *f)
{
    const int8_t *const record = f->record, *x = f->x - NNCC_WINDOW_BIAS;
    const int32_t head[3] = {((const int32_t *)(const void *)record)[0], ((const int32_t *)(const void *)record)[1],
                             ((const int32_t *)(const void *)record)[2]};
    const int32x4_t lo = vdupq_n_s32(f->act_min), hi = vldrwq_s32(f->hi);
    const uint32x4_t places = nncc_window_places(f);
    const int32_t zero = f->zero, next = f->next;
#if NNCC_WINDOW_STEP == 0
    const int32_t apart = f->step;
#endif
    const int8x16_t w0 = nncc_weights(record + 16);
#if NNCC_WINDOW_VECTORS > 1
    const int8x16_t w1 = nncc_weights(record + 32);
#endif
#if NNCC_WINDOW_VECTORS > 2
    const int8x16_t w2 = nncc_weights(record + 48);
#endif
#if NNCC_WINDOW_VECTORS > 3
    const int8x16_t w3 = nncc_weights(record + 64);
#endif
    int8_t *y = f->y;
    int32_t rows, i;
    int32x4_t v;

    for (rows = f->rows; rows > 0; rows--) {
        for (i = f->fours; i > 0; i--) {
            NNCC_WINDOW_FOUR(v);
            vstrbq_scatter_offset_s32(y, places, v);
            y += next;
        }
        if (f->rest != 0) {
            NNCC_WINDOW_FOUR(v);
            vstrbq_scatter_offset_p_s32(y, places, v, vctp32q((uint32_t)f->rest));
        }
        x += f->x_back;
        y += f->y_back;
    }
}

static inline void nncc_window_rows(nncc_helium_windows *f)
{
    for (; f->channels > 0; f->channels--) {
        nncc_window_channel(f);
        f->record += NNCC_HELIUM_BYTES * (1 + NNCC_WINDOW_VECTORS);
        f->x += f->plane;
        f->y++;
    }
}

#else

static inline void nncc_window_rows(nncc_helium_windows *f)
{
    nncc_window_each(f, NNCC_WINDOW_VECTORS);
}

#endif

#endif /* NNCC_HELIUM_DEPTHWISE_WINDOW_H */
