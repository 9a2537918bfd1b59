/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_recurrent.h: the products of LSTM and GRU with the DSP extension. Inputs are widened once a step for all
 * units; four units at a time are 0.87 instructions a MAC (int16: 1.17) and 43 for the four sums. Weights of int8 are
 * narrow ones (nncc_dsp.h); of int16, for every 4 inputs a word of each unit with the bytes 0, 2, 1, 3.
 */
#include "nncc_dsp_matmul_1row.h"
#include "nncc_dsp_widen_row.h"
#include "nncc_recurrent_int.h"

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

#if NNCC_DSP_ASM

/* A round of four inputs of int16. */
#define NNCC_DSP_GATE_UNIT(acc, w) \
    "sxtb16 r12, " w "\n smlad " acc ", r6, r12, " acc "\n sxtb16 " w ", " w ", ror #8\n smlad " acc ", r7, " w \
    ", " acc "\n"
#define NNCC_DSP_GATE_FOUR \
    "ldrd r6, r7, [r0], #8\n ldm r1!, {r8, r9, r10, r11}\n" NNCC_DSP_GATE_UNIT("r2", "r8") \
        NNCC_DSP_GATE_UNIT("r3", "r9") NNCC_DSP_GATE_UNIT("r4", "r10") NNCC_DSP_GATE_UNIT("r5", "r11")

/* The sum a with what is added to it in t; r10 to r12 and lr hold up to down. */
#define NNCC_DSP_GATE_DOWN(a, t) \
    "lsl " a ", " a ", r10\n add " t ", r12, " a ", asr #31\n smmlar " a ", " a ", r11, " t "\n asr " a ", " a ", " \
    "lr\n"
#define NNCC_DSP_GATE_UP(a, t) "lsl " a ", " a ", r10\n smmulr " a ", " a ", r11\n"

/*
 * BODY: a round. COUNT: how many bytes of code it has for a byte of its inputs. MISSING: the bytes of inputs that are
 * missing to four rounds. ODD: how odd sums come out.
 *
 * Frame: 0 x, 4 end of x, 8 parameters from up on, 12 z, 16 end of w, 20 entry.
 */
#define NNCC_DSP_GATE(BODY, COUNT, MISSING, ODD, SCALE) \
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
    "rsb r5, r5, #0\n" MISSING "movs r6, #" COUNT "\n" \
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
    ".rept 4\n" BODY ".endr\n" \
    "ldr r10, [sp, #4]\n" \
    "cmp r0, r10\n" \
    "bne 2b\n" ODD "ldrd r8, r9, [sp, #8]\n" \
    "ldm r8, {r10, r11, r12, lr}\n" \
    "ldrd r6, r7, [r9]\n" SCALE("r2", "r0") SCALE("r3", "r8") SCALE("r4", "r0") \
        SCALE("r5", "r8") "ssat r2, #16, r2\n ssat r3, #16, r3\n ssat r4, #16, r4\n ssat r5, #16, r5\n" \
                          "pkhbt r2, r2, r3, lsl #16\n pkhbt r4, r4, r5, lsl #16\n" \
                          "qadd16 r2, r2, r6\n qadd16 r4, r4, r7\n" \
                          "strd r2, r4, [r9], #8\n" \
                          "ldr r7, [sp, #16]\n" \
                          "str r9, [sp, #12]\n" \
                          "cmp r1, r7\n" \
                          "bne.w 1b\n" \
                          "add sp, #28\n" \
                          "pop {r4-r11, pc}\n"

#define NNCC_DSP_GATE_S8(SCALE) \
    NNCC_DSP_GATE(NNCC_NARROW_EIGHT, NNCC_NARROW_COUNT, "and r5, r5, #12\n", \
                  "sub r3, r3, r2\n asr r3, r3, #8\n sub r5, r5, r4\n asr r5, r5, #8\n", SCALE)
#define NNCC_DSP_GATE_S16(SCALE) NNCC_DSP_GATE(NNCC_DSP_GATE_FOUR, "36", "and r5, r5, #6\n", "", SCALE)

#else

#if NNCC_DSP_ACLE
#define NNCC_QADD16(a, b) __qadd16(a, b)
#else
#define NNCC_QADD16(a, b) \
    nncc_dsp_pair(nncc_sat16(nncc_dsp_lo(a) + nncc_dsp_lo(b)), nncc_sat16(nncc_dsp_hi(a) + nncc_dsp_hi(b)))
#endif

/* Adds the sums of four units, scaled, to z. down is a constant, 1 where the shift is to the right. */
NNCC_INLINED int32_t nncc_dsp_gate_scaled(const nncc_dsp_gate_params *p, int32_t sum, int32_t down)
{
    const int32_t a = (int32_t)((uint32_t)sum << p->up);

    if (down != 0) {
        return nncc_dsp_scaled(a, p->multiplier, p->half, p->down);
    }
    return (int32_t)(((int64_t)a * p->multiplier + 0x80000000LL) >> 32);
}

NNCC_INLINED void nncc_dsp_gate_add(const nncc_dsp_gate_params *p, int32_t a, int32_t b, int32_t down, int16_t *z)
{
    int8_t *const to = (int8_t *)(void *)z;
    const int32_t low = nncc_sat16(nncc_dsp_gate_scaled(p, a, down));
    const int32_t high = nncc_sat16(nncc_dsp_gate_scaled(p, b, down));

    nncc_dsp_store4(to, (uint32_t)NNCC_QADD16(nncc_dsp_lows(low, high), nncc_dsp_load4(to)));
}

NNCC_INLINED void nncc_dsp_gate_s8(const nncc_dsp_gate_params *p, const void *x, const void *packed, int16_t *z,
                                   int32_t down)
{
    const int32_t *w = packed;

    for (int32_t g = p->groups; g > 0; g--) {
        nncc_dsp_sums s;

        w = nncc_dsp_row_of(&s, NNCC_DSP_NARROW, p->pairs, x, w, w + 4, 0);
        s.b0 = NNCC_DSP_LESS(s.b0, s.a0) >> 8;
        nncc_dsp_gate_add(p, s.a0, s.b0, down, z);
        s.d0 = NNCC_DSP_LESS(s.d0, s.c0) >> 8;
        nncc_dsp_gate_add(p, s.c0, s.d0, down, z + 2);
        z += 4;
    }
}

/* A round of four inputs of int16, times the weights of two units; and of four. */
#define NNCC_DSP_GATE_TWO(sum0, sum1, k) \
    do { \
        int32_t v0, v1; \
\
        NNCC_DSP_LOAD_BOTH(w + (k), v0, v1); \
        sum0 = NNCC_SMLAD(low, nncc_dsp_even(v0), sum0); \
        sum1 = NNCC_SMLAD(low, nncc_dsp_even(v1), sum1); \
        sum0 = NNCC_SMLAD(high, nncc_dsp_odd(v0), sum0); \
        sum1 = NNCC_SMLAD(high, nncc_dsp_odd(v1), sum1); \
    } while (0)
#define NNCC_DSP_GATE_FOUR(k) \
    do { \
        int32_t low, high; \
\
        NNCC_DSP_LOAD_BOTH(from + 2 * (k), low, high); \
        NNCC_DSP_GATE_TWO(a, b, 4 * (k)); \
        NNCC_DSP_GATE_TWO(c, d, 4 * (k) + 2); \
    } while (0)

NNCC_INLINED void nncc_dsp_gate_s16(const nncc_dsp_gate_params *p, const void *x, const void *packed, int16_t *z,
                                    int32_t down)
{
    const int32_t *w = packed;
    const int32_t rounds = p->pairs >> 1;

    for (int32_t g = p->groups; g > 0; g--) {
        const int32_t *from = x;
        int32_t a, b, c, d;

        NNCC_DSP_LOAD_BOTH(w, a, b);
        NNCC_DSP_LOAD_BOTH(w + 2, c, d);
        w += 4;
        NNCC_DSP_ROUNDS(rounds, from, 2, w, 4, NNCC_DSP_GATE_FOUR);
        nncc_dsp_gate_add(p, a, b, down, z);
        nncc_dsp_gate_add(p, c, d, down, z + 2);
        z += 4;
    }
}

#endif
