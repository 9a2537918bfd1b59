/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_recurrent.h: the products and updates of LSTM and GRU for Helium. A vector of inputs meets the weights
 * of four units.
 */
#include "nncc_helium_core.h"
#include "nncc_recurrent_int.h"

#if NNCC_HELIUM_MVE

#include <arm_mve.h>

#if NNCC_HELIUM_ASM

/* CTP, X: a vector of inputs, the last one with its predicate. MAC: weights of a unit for it. */
#define NNCC_HELIUM_GATE_MAC_S8(acc) "vldrb.8 q1, [r3], #16\n\tvmladava.s8 " acc ", q1, q0\n\t"
#define NNCC_HELIUM_GATE_LAST_S8(acc) "vldrb.8 q1, [r3]\n\tadd r3, r3, r9\n\tvmladava.s8 " acc ", q1, q0\n\t"
#define NNCC_HELIUM_GATE_MAC_S16(acc) "vldrb.s16 q1, [r3], #8\n\tvmladava.s16 " acc ", q1, q0\n\t"
#define NNCC_HELIUM_GATE_LAST_S16(acc) "vldrb.s16 q1, [r3]\n\tadd r3, r3, r9\n\tvmladava.s16 " acc ", q1, q0\n\t"
#define NNCC_HELIUM_GATE_FOUR(mac) mac("r0") mac("r2") mac("r4") mac("r6")

/*
 * All groups of four. The last vector of inputs may be short: it is filled up with zeros, which meet the weights that
 * follow. q5: multiplier, q6: shift to the left, q7: shift to the right, as a negative number. Ties of the right shift
 * go away from zero, those of no shift do not move.
 */
/* clang-format off */
#define NNCC_HELIUM_GATE_ASM(CTP, X, X_LAST, MAC, MAC_LAST, ADD) \
    __asm volatile("ldrd r0, r2, [r12]\n\t" \
                   "ldr r4, [r12, #8]\n\t" \
                   "vdup.32 q5, r0\n\t" \
                   "vdup.32 q6, r2\n\t" \
                   "vdup.32 q7, r4\n\t" \
                   CTP \
                   "1:\n\t" \
                   "ldrd r0, r2, [r3], #8\n\t" \
                   "ldrd r4, r6, [r3], #8\n\t" \
                   "mov r1, r8\n\t" \
                   "wls lr, r10, 3f\n" \
                   "2:\n\t" \
                   X \
                   NNCC_HELIUM_GATE_FOUR(MAC) \
                   "le lr, 2b\n" \
                   "3:\n\t" \
                   "vpst\n\t" \
                   X_LAST \
                   NNCC_HELIUM_GATE_FOUR(MAC_LAST) \
                   "vmov q0[2], q0[0], r0, r4\n\t" \
                   "vmov q0[3], q0[1], r2, r6\n\t" \
                   "vshl.s32 q0, q0, q6\n\t" \
                   "vqrdmulh.s32 q0, q0, q5\n\t" \
                   "vand q1, q0, q7\n\t" \
                   "vshr.s32 q1, q1, #31\n\t" \
                   "vadd.i32 q0, q0, q1\n\t" \
                   "vrshl.s32 q0, q0, q7\n\t" \
                   "vqmovnb.s32 q0, q0\n\t" \
                   ADD \
                   "vstrh.32 q0, [r5], #8\n\t" \
                   "subs r11, r11, #1\n\t" \
                   "bne 1b\n\t" \
                   : "+r"(at), "+r"(to), "+r"(left) \
                   : "r"(from), "r"(rest), "r"(full), "r"(scale) \
                   : "r0", "r1", "r2", "r4", "r6", "lr", "q0", "q1", "q5", "q6", "q7", "cc", "memory")
/* clang-format on */

#define NNCC_HELIUM_GATE_S8(ADD) \
    NNCC_HELIUM_GATE_ASM("vctp.8 r9\n\t", "vldrb.8 q0, [r1], #16\n\t", "vldrbt.8 q0, [r1]\n\t", \
                         NNCC_HELIUM_GATE_MAC_S8, NNCC_HELIUM_GATE_LAST_S8, ADD)
#define NNCC_HELIUM_GATE_S16(ADD) \
    NNCC_HELIUM_GATE_ASM("vctp.16 r9\n\t", "vldrh.16 q0, [r1], #16\n\t", "vldrht.16 q0, [r1]\n\t", \
                         NNCC_HELIUM_GATE_MAC_S16, NNCC_HELIUM_GATE_LAST_S16, ADD)

#endif

/* nncc_sigmoid_line without a clamp. */
static inline int32x4_t nncc_line4(uint32x4_t m, const int bits)
{
    const uint32x4_t at = vshlq_r_u32(m, -bits);
    const uint32x4_t low = vldrhq_gather_shifted_offset_u32(nncc_sigmoid_points, at);
    const uint32x4_t high = vldrhq_gather_shifted_offset_u32(nncc_sigmoid_points + 1, at);
    const uint32x4_t part = vsubq_u32(m, vshlq_r_u32(at, bits));

    return vreinterpretq_s32_u32(vaddq_u32(vshlq_r_u32(low, bits), vmulq_u32(part, vsubq_u32(high, low))));
}

/* r where the sign is 0, -r where it is -1. */
static inline int32x4_t nncc_signed4(int32x4_t r, int32x4_t sign)
{
    return vsubq_s32(veorq_s32(r, sign), sign);
}

/* nncc_sigmoid_q15 of four gates: three times an int16 does not reach the last point. */
static inline int32x4_t nncc_sigmoid4(const int16_t *z)
{
    const int32x4_t x = vmulq_n_s32(vldrhq_s32(z), 3);
    const int32x4_t r = nncc_line4(vreinterpretq_u32_s32(vabsq_s32(x)), 9);

    return vaddq_n_s32(nncc_signed4(vsubq_n_s32(vrshrq_n_s32(r, 10), 16384), vshrq_n_s32(x, 31)), 16384);
}

/* nncc_tanh_q15 of four values. */
static inline int32x4_t nncc_tanh4(int32x4_t x)
{
    const uint32x4_t m = vminq_u32(vreinterpretq_u32_s32(vabsq_s32(x)), vdupq_n_u32((255u << 8) - 1u));

    return nncc_signed4(vsubq_n_s32(vrshrq_n_s32(nncc_line4(m, 8), 8), 32768), vshrq_n_s32(x, 31));
}

/* nncc_rq_power; down is the exponent as a negative number. */
static inline int32x4_t nncc_rq_power4(int32x4_t v, int32_t down)
{
    const int32x4_t half = vrshrq_n_s32(v, 1);

    return vrshlq_n_s32(vaddq_s32(half, vshrq_n_s32(half, 31)), down);
}

/* Limits to int16. Clang 14 takes VMOVLB of VQMOVNB for 0. */
static inline int32x4_t nncc_sat16x4(int32x4_t v)
{
    return vminq_s32(vmaxq_s32(v, vdupq_n_s32(-32768)), vdupq_n_s32(32767));
}

/* Four elements, and four elements stored. */
static inline int32x4_t nncc_load4_s8(const int8_t *x)
{
    return vldrbq_s32(x);
}

static inline int32x4_t nncc_load4_s16(const int16_t *x)
{
    return vldrhq_s32(x);
}

static inline void nncc_store4_s8(int8_t *y, int32x4_t v)
{
    vstrbq_s32(y, v);
}

static inline void nncc_store4_s16(int16_t *y, int32x4_t v)
{
    vstrhq_s32(y, v);
}

/* Four values of the hidden state, not yet saturated. */
static inline int32x4_t nncc_hidden4(const nncc_recurrent_params *p, int32x4_t v)
{
    const int32_t shift = p->output.shift, up = shift > 0 ? shift : 0, down = shift < 0 ? shift : 0;

    v = vqrdmulhq_n_s32(vshlq_r_s32(v, up), p->output.multiplier);
    v = vrshlq_n_s32(vaddq_s32(v, vshrq_n_s32(vandq_s32(v, vdupq_n_s32(down)), 31)), down);
    return vaddq_n_s32(v, p->zero);
}

static inline void nncc_hidden4_s8(const nncc_recurrent_params *p, int32x4_t v, int8_t *h)
{
    v = nncc_hidden4(p, v);
    v = vreinterpretq_s32_s16(vqmovnbq_s32(vreinterpretq_s16_s32(v), v));
    v = vreinterpretq_s32_s8(vqmovnbq_s16(vreinterpretq_s8_s32(v), vreinterpretq_s16_s32(v)));
    vstrbq_s32(h, v);
}

static inline void nncc_hidden4_s16(const nncc_recurrent_params *p, int32x4_t v, int16_t *h)
{
    v = nncc_hidden4(p, v);
    vstrhq_s32(h, vreinterpretq_s32_s16(vqmovnbq_s32(vreinterpretq_s16_s32(v), v)));
}

#endif
