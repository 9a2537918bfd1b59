/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_batch_matmul_s16: two rows by two columns at a time, which are put side by side in pairs first.
 */
#include "nncc_dsp_core.h"
#include "nncc_simd32.h"

/* Two lines of the first operand times pairs of lines of the second one; the assembly has the offsets. */
typedef struct
{
    const int32_t *w; /* 0 */
    int32_t words;    /* 4: pairs of values of a line, at least 1 */
    int32_t mult;     /* 8 */
    int32_t half;     /* 12: of what is shifted out */
    int32_t shift;    /* 16 */
    int32_t low;      /* 20: each half is act_min */
    int32_t high;     /* 24 */
    int32_t groups;   /* 28: of two lines */
    int32_t row;      /* 32: bytes from the results of the first line of x to those of the second one */
} nncc_bmm16;

#if NNCC_DSP_ASM

#define NNCC_TURN16 \
    "ldrd r10, r11, [r0], #8\n ldrd r12, lr, [r1], #8\n" \
    "smlald r2, r3, r10, r12\n smlald r4, r5, r11, r12\n smlald r6, r7, r10, lr\n smlald r8, r9, r11, lr\n"
#define NNCC_SCALED16(lo, hi) \
    "umull " lo ", r12, " lo ", lr\n mla " hi ", " hi ", lr, r12\n add " hi ", " hi ", r10\n asr " hi ", " hi \
    ", r11\n ssat " hi ", #16, " hi "\n"
#define NNCC_CLAMP16(r) \
    "ssub16 r12, " r ", r10\n sel " r ", " r ", r10\n ssub16 r12, r11, " r "\n sel " r ", " r ", r11\n"

/* Frame: 0 end of x, 4 entry, 8 y, 12 groups, 16 p, 20 x. */
NNCC_DSP_NAKED static void nncc_products16(NNCC_DSP_ARG const nncc_bmm16 *p, NNCC_DSP_ARG const int32_t *x,
                                           NNCC_DSP_ARG int8_t *y)
{
    /* clang-format off */
    __asm volatile(".syntax unified\n"
                   "push {r4-r11, lr}\n"
                   "sub sp, #28\n"
                   "ldrd r3, r4, [r0]\n"
                   "ldr r5, [r0, #28]\n"
                   "add r6, r1, r4, lsl #3\n"
                   "rsb r4, r4, #0\n"
                   "and r4, r4, #7\n"
                   "movs r8, #24\n"
                   "adr r7, 2f\n"
                   "mla r7, r4, r8, r7\n"
                   "orr r7, r7, #1\n"
                   "strd r6, r7, [sp]\n"
                   "strd r2, r5, [sp, #8]\n"
                   "strd r0, r1, [sp, #16]\n"
                   "mov r1, r3\n"
                   "1:\n"
                   "ldr r0, [sp, #20]\n"
                   "ldr r10, [sp, #4]\n"
                   "mov r2, #0\n mov r3, #0\n mov r4, #0\n mov r5, #0\n"
                   "mov r6, #0\n mov r7, #0\n mov r8, #0\n mov r9, #0\n"
                   "bx r10\n"
                   ".p2align 2\n"
                   "2:\n"
                   ".rept 8\n" NNCC_TURN16 ".endr\n"
                   "ldr r10, [sp]\n"
                   "cmp r0, r10\n"
                   "bne.w 2b\n"
                   "ldr r0, [sp, #16]\n"
                   "ldrd lr, r10, [r0, #8]\n"
                   "ldr r11, [r0, #16]\n"
                   NNCC_SCALED16("r2", "r3") NNCC_SCALED16("r4", "r5") NNCC_SCALED16("r6", "r7") NNCC_SCALED16("r8", "r9")
                   "pkhbt r3, r3, r7, lsl #16\n"
                   "pkhbt r5, r5, r9, lsl #16\n"
                   "ldrd r10, r11, [r0, #20]\n"
                   NNCC_CLAMP16("r3") NNCC_CLAMP16("r5")
                   "ldrd r10, r11, [sp, #8]\n"
                   "ldr r12, [r0, #32]\n"
                   "str r3, [r10]\n"
                   "str r5, [r10, r12]\n"
                   "add r10, r10, #4\n"
                   "subs r11, r11, #1\n"
                   "strd r10, r11, [sp, #8]\n"
                   "bne.w 1b\n"
                   "add sp, #28\n"
                   "pop {r4-r11, pc}\n");
    /* clang-format on */
}

#else

/* A sum by the multiplier, which is not negative: the lower 64 bits of the product are those of unsigned numbers. */
static inline int32_t nncc_scaled16(const nncc_bmm16 *p, int64_t sum)
{
    return ((int32_t)(((uint64_t)sum * (uint32_t)p->mult) >> 32) + p->half) >> p->shift;
}

#if NNCC_DSP_ACLE
#define NNCC_TWO16(x, w, sum) __smlald((int16x2_t)(x), (int16x2_t)(w), sum)
#else
#define NNCC_TWO16(x, w, sum) ((sum) + nncc_dsp_lo(x) * nncc_dsp_lo(w) + nncc_dsp_hi(x) * nncc_dsp_hi(w))
#endif

static inline int32_t nncc_limited16(const nncc_bmm16 *p, int64_t sum)
{
    const int32_t v = nncc_scaled16(p, sum), low = nncc_dsp_lo(p->low), high = nncc_dsp_lo(p->high);

    return v < low ? low : v > high ? high : v;
}

static inline uint32_t nncc_clamped16(const nncc_bmm16 *p, int64_t a, int64_t b)
{
    return (uint32_t)nncc_dsp_pair(nncc_limited16(p, a), nncc_limited16(p, b));
}

/* A pair of values of both lines, times those of two lines. */
#define NNCC_TURN16(k) \
    do { \
        int32_t a, b, c, d; \
\
        NNCC_DSP_LOAD_BOTH(from + 2 * (k), a, b); \
        NNCC_DSP_LOAD_BOTH(w + 2 * (k), c, d); \
        s0 = NNCC_TWO16(a, c, s0); \
        s1 = NNCC_TWO16(b, c, s1); \
        s2 = NNCC_TWO16(a, d, s2); \
        s3 = NNCC_TWO16(b, d, s3); \
    } while (0)

NNCC_DSP_AS_WRITTEN static void nncc_products16(const nncc_bmm16 *p, const int32_t *x, int8_t *y)
{
    const int32_t *w = p->w;
    const int32_t *volatile const begin = x; /* on the stack, as all that the loop does not need */
    int8_t *volatile to = y;

    for (int32_t g = p->groups; g > 0; g--) {
        const int32_t *from = begin;
        int64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;

        NNCC_DSP_ROUNDS(p->words, from, 2, w, 2, NNCC_TURN16);

        int8_t *const at = to;

        nncc_dsp_store4(at, nncc_clamped16(p, s0, s2));
        nncc_dsp_store4(at + p->row, nncc_clamped16(p, s1, s3));
        to = at + 4;
    }
}

#endif

static inline int32_t nncc_two16(const int16_t *x)
{
    return nncc_dsp_load4((const int8_t *)(const void *)x);
}

/* Two lines of k values, k_step apart, as words of two values, the lines in turn; step is from the first line to the
 * second one. Returns what is behind the words. */
static int32_t *nncc_side_by_side16(const int16_t *x, int32_t step, int32_t k, int32_t k_step, int32_t *to)
{
    if (step == 1) {
        for (; k >= 2; k -= 2) {
            const uint32_t a = (uint32_t)nncc_two16(x), b = (uint32_t)nncc_two16(x + k_step);

            to[0] = (int32_t)nncc_pack_low(a, b);
            to[1] = (int32_t)nncc_pack_high(a, b);
            x += 2 * k_step;
            to += 2;
        }
    } else if (k_step == 1) {
        for (; k >= 2; k -= 2) {
            to[0] = nncc_two16(x);
            to[1] = nncc_two16(x + step);
            x += 2;
            to += 2;
        }
    }
    for (; k > 0; k -= 2) {
        to[0] = nncc_dsp_pair(x[0], k > 1 ? x[k_step] : 0);
        to[1] = nncc_dsp_pair(x[step], k > 1 ? x[step + k_step] : 0);
        x += k > 2 ? 2 * k_step : 0;
        to += 2;
    }
    return to;
}

/* The columns as pairs, the last two again where their number is odd. */
static void nncc_pack16(const nncc_dsp_batch_matmul16_params *p, const int16_t *b, int32_t *to)
{
    for (int32_t c = 0; c < p->n; c += 2) {
        const int32_t first = c + 2 > p->n ? c - 1 : c;

        to = nncc_side_by_side16(b + first * p->b_n, p->b_n, p->k, p->b_k, to);
    }
}

/* Two rows, as pairs, times all columns. */
static void nncc_rows16(nncc_bmm16 *f, const int32_t *x, const int32_t *w, int32_t columns, int8_t *y)
{
    f->w = w;
    f->groups = columns / 2;
    nncc_products16(f, x, y);
    if (columns % 2 != 0) {
        f->w = w + f->groups * 2 * f->words;
        f->groups = 1;
        nncc_products16(f, x, y + 2 * columns - 4);
    }
}

void nncc_dsp_batch_matmul_s16(const nncc_dsp_batch_matmul16_params *p, const int16_t *a, const int16_t *b,
                               int32_t *scratch, int16_t *y)
{
    const int32_t two = p->m > 1 ? 1 : 0; /* a single row is two at the same place */
    const int16_t *right = NULL;
    nncc_bmm16 f;

    f.words = (p->k + 1) / 2;
    f.mult = p->mult;
    f.half = 1 << (p->shift - 1);
    f.shift = p->shift;
    f.low = nncc_dsp_pair(p->act_min, p->act_min);
    f.high = nncc_dsp_pair(p->act_max, p->act_max);
    f.row = 2 * two * p->y_m;
    int32_t *packed = scratch + 2 * f.words;
    for (int32_t i = 0; i < p->batch[0]; i++) {
        for (int32_t j = 0; j < p->batch[1]; j++) {
            for (int32_t l = 0; l < p->batch[2]; l++) {
                const int16_t *const at = a + i * p->a_batch[0] + j * p->a_batch[1] + l * p->a_batch[2];
                const int16_t *const bt = b + i * p->b_batch[0] + j * p->b_batch[1] + l * p->b_batch[2];
                int16_t *const to = y + i * p->y_batch[0] + j * p->y_batch[1] + l * p->y_batch[2];

                if (bt != right) {
                    nncc_pack16(p, bt, packed);
                    right = bt;
                }
                for (int32_t r = 0; r < p->m; r += 2) {
                    const int32_t first = r + 1 + two > p->m ? r - 1 : r;

                    nncc_side_by_side16(at + first * p->a_m, two * p->a_m, p->k, p->a_k, scratch);
                    nncc_rows16(&f, scratch, packed, p->n, (int8_t *)(void *)(to + first * p->y_m));
                }
            }
        }
    }
}
