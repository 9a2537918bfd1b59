/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_depthwise_16.h: sums of 16 neighbouring channels. The numbers of a record come by even channels 0, 4, 8,
 * 12 and 2, 6, 10, 14, then the odd ones alike.
 */
#include "nncc_helium_depthwise_3x3.h"

/* Bias, multipliers and shifts (NNCC_3X3_UPPER: scale and offset, or what NNCC_3X3_BELOW adds) of 16 channels. */
#define NNCC_DW16_HEAD 192

#if NNCC_3X3_UPPER && NNCC_HELIUM_MVE
static inline int32_t nncc_dw_word(const int8_t *at)
{
    int32_t v;

    memcpy(&v, at, sizeof v);
    return v;
}
#endif

#if NNCC_HELIUM_ASM

/* Products of a tap: even channels to q0, odd ones to q1. The row moves on by an addition, or with its last load. */
#define NNCC_DW_FIRST(tap, last, step) \
    "vldrb.8 q2, " last "\nvldrw.32 q3, [%[w], #192+16*" #tap "]\nvmullb.s8 q0, q2, q3\n" step "vmullt.s8 q1, q2, " \
    "q3\n"
/* The same, added in 16 bits. */
#define NNCC_DW_SECOND(tap, x, last, step) \
    "vldrw.32 q3, [%[w], #192+16*" #tap "]\nvldrb.8 q2, " x "\nvmullb.s8 q2, q2, q3\nvadd.i16 q0, q0, q2\n" \
    "vldrb.8 q2, " last "\n" step "vmullt.s8 q2, q2, q3\nvadd.i16 q1, q1, q2\n"
/* Sums of the channels 0, 4, 8, 12 are in q4, of 2, 6, 10, 14 in q5, of 1, 5, 9, 13 in q6, of 3, 7, 11, 15 in q7. */
#define NNCC_DW_START "vmovlb.s16 q4, q0\nvmovlt.s16 q5, q0\nvmovlb.s16 q6, q1\nvmovlt.s16 q7, q1\n"
#define NNCC_DW_SUM \
    "vmovlb.s16 q2, q0\nvmovlt.s16 q3, q0\nvadd.i32 q4, q4, q2\nvadd.i32 q5, q5, q3\n" \
    "vmovlb.s16 q2, q1\nvmovlt.s16 q3, q1\nvadd.i32 q6, q6, q2\nvadd.i32 q7, q7, q3\n"
#define NNCC_DW_EACH(op, at) \
    "vldrw.32 q0, [%[w], #" #at "]\nvldrw.32 q1, [%[w], #" #at "+16]\nvldrw.32 q2, [%[w], #" #at \
    "+32]\nvldrw.32 q3, [%[w], #" #at "+48]\n" op " q4, q4, q0\n" op " q5, q5, q1\n" op " q6, q6, q2\n" op \
    " q7, q7, q3\n"

/* Bytes in the order of the channels, clamped. */
#if NNCC_3X3_UPPER
#if NNCC_3X3_BELOW
#define NNCC_DW_BELOW(to, from, at) \
    "vldrw.32 " #from ", [%[w], #128+" #at "]\nvpt.s32 lt, " #to ", zr\nvaddt.i32 " #to ", " #to ", " #from "\n"
#else
#define NNCC_DW_BELOW(to, from, at) ""
#endif
#define NNCC_DW_BIAS(to, from, at) \
    "vldrw.32 " #to ", [%[w], #" #at "]\nvmla.s32 " #to ", " #from ", r12\n" NNCC_DW_BELOW(to, from, at)
#define NNCC_DW_SCALE(q, at) "vldrw.32 q4, [%[w], #64+" #at "]\nvqrdmlash.s32 " #q ", q4, %[zero]\n"
/* clang-format off */
#define NNCC_DW_BYTES \
    NNCC_DW_BIAS(q0, q4, 0) NNCC_DW_BIAS(q1, q5, 16) NNCC_DW_BIAS(q2, q6, 32) NNCC_DW_BIAS(q3, q7, 48) \
    NNCC_DW_SCALE(q0, 0) NNCC_DW_SCALE(q1, 16) "vsri.32 q1, q0, #16\n" \
    NNCC_DW_SCALE(q2, 32) NNCC_DW_SCALE(q3, 48) "vsri.32 q3, q2, #16\n" \
    "vqrshrnb.s16 q4, q1, #1\nvqrshrnt.s16 q4, q3, #1\n"
/* clang-format on */
#define NNCC_DW_ZERO(f, record) nncc_dw_word((record) + 132)
#define NNCC_DW_SCALARS "ldr r12, [%[w], #128]\n"
#else
#define NNCC_DW_ZERO(f, record) (f)->zero
#define NNCC_DW_SCALARS ""
/* clang-format off */
#define NNCC_DW_BYTES \
    NNCC_DW_EACH("vadd.i32", 0) NNCC_DW_EACH("vqrdmulh.s32", 64) \
    NNCC_3X3_ROUND(q4, q0) NNCC_3X3_ROUND(q5, q1) NNCC_3X3_ROUND(q6, q0) NNCC_3X3_ROUND(q7, q1) \
    NNCC_DW_EACH("vrshl.s32", 128) NNCC_3X3_NARROW("%[zero]")
/* clang-format on */
#endif

#elif NNCC_HELIUM_MVE

/* What the pointer to a record is biased by: no offset is 0. It is volatile: GCC would keep the sums of it and every
 * offset on the stack. */
#define NNCC_DW16_BIAS 132

/* Products of a tap: of the even channels and of the odd ones. */
#define NNCC_DW_FIRST(tap, x) \
    do { \
        const int8x16_t u = x, q = nncc_weights(w + NNCC_DW16_HEAD - NNCC_DW16_BIAS + 16 * (tap)); \
\
        even = vmullbq_int_s8(u, q); \
        odd = vmulltq_int_s8(u, q); \
    } while (0)
/* The same, added in 16 bits. */
#define NNCC_DW_SECOND(tap, x) \
    do { \
        const int8x16_t u = x, q = nncc_weights(w + NNCC_DW16_HEAD - NNCC_DW16_BIAS + 16 * (tap)); \
\
        even = vaddq_s16(even, vmullbq_int_s8(u, q)); \
        odd = vaddq_s16(odd, vmulltq_int_s8(u, q)); \
    } while (0)
/* Sums of the channels 0, 4, 8, 12, of 2, 6, 10, 14, of 1, 5, 9, 13 and of 3, 7, 11, 15. */
#define NNCC_DW_SUM \
    s0 = vaddq_s32(s0, vmovlbq_s16(even)); \
    s1 = vaddq_s32(s1, vmovltq_s16(even)); \
    s2 = vaddq_s32(s2, vmovlbq_s16(odd)); \
    s3 = vaddq_s32(s3, vmovltq_s16(odd))

#define NNCC_DW_SCALED(v, at) NNCC_3X3_SCALED(v, w - NNCC_DW16_BIAS + (at), 64, scale, zero)

#endif
