/*
 * nncc_dsp_recurrent.h: the products of nncc_lstm_int.h with the DSP extension. Inputs are widened once a step for all
 * units; four units at a time are 0.87 instructions a MAC (int16: 1.17) and 43 for the four sums. Weights of int8 are
 * narrow ones (nncc_dsp.h); of int16, for every 4 inputs a word of each unit with the bytes 0, 2, 1, 3.
 */
#ifndef NNCC_DSP_RECURRENT_H
#define NNCC_DSP_RECURRENT_H

#include "nncc_dsp_matmul_1row.h"
#include "nncc_dsp_widen_row.h"

#define NNCC_RECURRENT_SCALAR
#include "nncc_recurrent_plain.h"

/* What the products of a gate share; the assembly has the offsets. */
typedef struct
{
    int32_t groups; /* of four units */
    int32_t pairs;  /* words of inputs, whole rounds of the loop */
    int32_t up;     /* the requantisation: shift to the left, */
    int32_t multiplier;
    int32_t half; /* what is added, */
    int32_t down; /* shift to the right */
} nncc_dsp_gate_params;

/* Inputs of a round of the loop. */
#if NNCC_ELEM_MAX == 127
#define NNCC_GATE_ROUND 8
#else
#define NNCC_GATE_ROUND 4
#endif

#if NNCC_DSP_ASM

/*
 * A round, how many bytes of code it has for a byte of its inputs, the bytes of inputs that are missing to four rounds,
 * and how odd sums come out.
 */
#if NNCC_ELEM_MAX == 127
#define NNCC_GATE_BODY NNCC_NARROW_EIGHT
#define NNCC_GATE_COUNT NNCC_NARROW_COUNT
#define NNCC_GATE_MISSING "and r5, r5, #12\n"
#define NNCC_GATE_ODD "sub r3, r3, r2\n asr r3, r3, #8\n sub r5, r5, r4\n asr r5, r5, #8\n"
#else
#define NNCC_GATE_UNIT(acc, w) \
    "sxtb16 r12, " w "\n smlad " acc ", r6, r12, " acc "\n sxtb16 " w ", " w ", ror #8\n smlad " acc ", r7, " w \
    ", " acc "\n"
#define NNCC_GATE_BODY \
    "ldrd r6, r7, [r0], #8\n ldm r1!, {r8, r9, r10, r11}\n" NNCC_GATE_UNIT("r2", "r8") NNCC_GATE_UNIT("r3", "r9") \
        NNCC_GATE_UNIT("r4", "r10") NNCC_GATE_UNIT("r5", "r11")
#define NNCC_GATE_COUNT "36"
#define NNCC_GATE_MISSING "and r5, r5, #6\n"
#define NNCC_GATE_ODD ""
#endif

/* The sum a with what is added to it in t; r10 to r12 and lr hold up to down. */
#define NNCC_GATE_DOWN(a, t) \
    "lsl " a ", " a ", r10\n add " t ", r12, " a ", asr #31\n smmlar " a ", " a ", r11, " t "\n asr " a ", " a ", " \
    "lr\n"
#define NNCC_GATE_UP(a, t) "lsl " a ", " a ", r10\n smmulr " a ", " a ", r11\n"

/* Frame: 0 x, 4 end of x, 8 parameters from up on, 12 z, 16 end of w, 20 entry. */
#define NNCC_GATE(SCALE) \
    ".syntax unified\n" \
    "push {r4-r11, lr}\n" \
    "sub sp, #28\n" \
    "ldrd r4, r5, [r0], #8\n" \
    "add r10, r1, r5, lsl #2\n" \
    "strd r1, r10, [sp]\n" \
    "strd r0, r3, [sp, #8]\n" \
    "lsl r10, r5, #3\n" \
    "add r10, r10, #16\n" \
    "mla r10, r10, r4, r2\n" \
    "mov r1, r2\n" \
    "rsb r5, r5, #0\n" NNCC_GATE_MISSING "movs r6, #" NNCC_GATE_COUNT "\n" \
    "adr r7, 2f\n" \
    "mla r5, r5, r6, r7\n" \
    "orr r5, r5, #1\n" \
    "strd r10, r5, [sp, #16]\n" \
    "1:\n" \
    "ldm r1!, {r2, r3, r4, r5}\n" \
    "ldr r0, [sp]\n" \
    "ldr r10, [sp, #20]\n" \
    "bx r10\n" \
    ".p2align 2\n" \
    "2:\n" \
    ".rept 4\n" NNCC_GATE_BODY ".endr\n" \
    "ldr r10, [sp, #4]\n" \
    "cmp r0, r10\n" \
    "bne 2b\n" NNCC_GATE_ODD "ldrd r8, r9, [sp, #8]\n" \
    "ldm r8, {r10, r11, r12, lr}\n" \
    "ldrd r6, r7, [r9]\n" SCALE("r2", "r0") SCALE("r3", "r8") SCALE("r4", "r0") SCALE( \
        "r5", "r8") "sxtah r2, r2, r6\n sxtah r3, r3, r6, ror #16\n sxtah r4, r4, r7\n sxtah r5, r5, r7, ror #16\n" \
                    "ssat r2, #16, r2\n ssat r3, #16, r3\n ssat r4, #16, r4\n ssat r5, #16, r5\n" \
                    "pkhbt r2, r2, r3, lsl #16\n pkhbt r4, r4, r5, lsl #16\n" \
                    "strd r2, r4, [r9], #8\n" \
                    "ldr r7, [sp, #16]\n" \
                    "str r9, [sp, #12]\n" \
                    "cmp r1, r7\n" \
                    "bne.w 1b\n" \
                    "add sp, #28\n" \
                    "pop {r4-r11, pc}\n"

NNCC_DSP_NAKED static void nncc_gate_down(NNCC_DSP_ARG const nncc_dsp_gate_params *p, NNCC_DSP_ARG const void *x,
                                          NNCC_DSP_ARG const void *w, NNCC_DSP_ARG int16_t *z)
{
    __asm volatile(NNCC_GATE(NNCC_GATE_DOWN));
}

NNCC_DSP_NAKED static void nncc_gate_up(NNCC_DSP_ARG const nncc_dsp_gate_params *p, NNCC_DSP_ARG const void *x,
                                        NNCC_DSP_ARG const void *w, NNCC_DSP_ARG int16_t *z)
{
    __asm volatile(NNCC_GATE(NNCC_GATE_UP));
}

#else

/* Shifted to the left, multiplied, and, where the shift to the right is not 0, rounded a second time. */
static inline int32_t nncc_gate_scaled(const nncc_dsp_gate_params *p, int32_t sum)
{
    const int32_t a = (int32_t)((uint32_t)sum << p->up);
    const int64_t added = p->down > 0 ? p->half - (a < 0 ? 1 : 0) : 0;

    return (int32_t)(((int64_t)a * p->multiplier + added * 0x100000000LL + 0x80000000LL) >> 32) >> p->down;
}

/* The sums of four units from their start values on; what follows the weights. */
static inline const int32_t *nncc_gate_sums(const int32_t *x, int32_t pairs, const int32_t *w, uint32_t sum[4])
{
    memcpy(sum, w, 16);
    w += 4;
#if NNCC_ELEM_MAX == 127
    for (int32_t k = 0; k < pairs; k++) {
        const int32_t low = nncc_dsp_lo(x[k]), high = nncc_dsp_hi(x[k]);

        for (int32_t c = 0; c < 4; c += 2) {
            const int32_t a = nncc_dsp_lo(*w), b = nncc_dsp_hi(*w);

            sum[c] += (uint32_t)(low * nncc_dsp_byte(a)) + (uint32_t)(high * nncc_dsp_byte(b));
            sum[c + 1] += (uint32_t)(low * a) + (uint32_t)(high * b);
            w++;
        }
    }
    sum[1] = (uint32_t)((int32_t)(sum[1] - sum[0]) >> 8);
    sum[3] = (uint32_t)((int32_t)(sum[3] - sum[2]) >> 8);
#else
    for (int32_t k = 0; k < pairs; k += 2) {
        for (int32_t c = 0; c < 4; c++) {
            sum[c] += (uint32_t)(nncc_dsp_lo(x[k]) * nncc_dsp_byte(*w)) +
                      (uint32_t)(nncc_dsp_hi(x[k]) * nncc_dsp_byte(*w >> 16)) +
                      (uint32_t)(nncc_dsp_lo(x[k + 1]) * nncc_dsp_byte(*w >> 8)) +
                      (uint32_t)(nncc_dsp_hi(x[k + 1]) * nncc_dsp_byte(*w >> 24));
            w++;
        }
    }
#endif
    return w;
}

static inline void nncc_gate_down(const nncc_dsp_gate_params *p, const void *x, const void *packed, int16_t *z)
{
    const int32_t *w = packed;

    for (int32_t g = 0; g < p->groups; g++) {
        uint32_t sum[4];

        w = nncc_gate_sums(x, p->pairs, w, sum);
        for (int32_t c = 0; c < 4; c++) {
            z[4 * g + c] = (int16_t)nncc_sat16(z[4 * g + c] + nncc_gate_scaled(p, (int32_t)sum[c]));
        }
    }
}

static inline void nncc_gate_up(const nncc_dsp_gate_params *p, const void *x, const void *w, int16_t *z)
{
    nncc_gate_down(p, x, w, z);
}

#endif

/* Words of n inputs. */
static inline int32_t nncc_gate_pairs(int32_t n)
{
    return ((n + NNCC_GATE_ROUND - 1) & -NNCC_GATE_ROUND) / 2;
}

static inline const void *nncc_prepared(const nncc_elem *x, int32_t n, void *room)
{
#if NNCC_ELEM_MAX == 127
    nncc_dsp_widen_row(x, n, nncc_gate_pairs(n), room);
#else
    nncc_elem *const to = room;

    memcpy(to, x, (size_t)n * sizeof *x);
    memset(to + n, 0, (size_t)(2 * nncc_gate_pairs(n) - n) * sizeof *x);
#endif
    return room;
}

static inline const int8_t *nncc_gate(const nncc_gate_scale *s, const void *x, int32_t n, const int8_t *w,
                                      int32_t groups, int16_t *z, int32_t add)
{
    const int32_t down = s->shift < 0 ? -s->shift : 0, up = s->shift > 0 ? s->shift : 0;
    const nncc_dsp_gate_params p = {groups, nncc_gate_pairs(n), up + 1, s->multiplier, down > 0 ? 1 << (down - 1) : 0,
                                    down};

    if (add == 0) {
        memset(z, 0, (size_t)groups * 4 * sizeof *z);
    }
    if (down > 0) {
        nncc_gate_down(&p, x, w, z);
    } else {
        nncc_gate_up(&p, x, w, z);
    }
    return w + groups * (16 + 8 * p.pairs);
}

#endif /* NNCC_DSP_RECURRENT_H */
