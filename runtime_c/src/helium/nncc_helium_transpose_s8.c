/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_core.h"

#if NNCC_HELIUM_ASM

/* Longest step whose 16 multiples up to 15 are byte offsets. */
#define NNCC_BYTE_STEP 17

/*
 * Lines of n bytes, bytes `step` apart on one side and neighbours on the other. LOAD and STORE are the accesses with
 * the offsets in q1, and what each of the pointers moves by; lane offsets are multiples of step.
 */
#define NNCC_LINE(bits, lanes, load, store) \
    __asm volatile("mov r0, #0\n\t" \
                   "vidup.u" bits " q1, r0, #1\n\t" \
                   "vmul.i" bits " q1, q1, %[step]\n\t" \
                   "wlstp." bits " lr, %[n], 2f\n" \
                   "1:\n\t" load store "add %[far], %[far], %[jump]\n\t" \
                   "letp lr, 1b\n" \
                   "2:\n\t" \
                   : [far] "+r"(far), [near] "+r"(near) \
                   : [n] "r"(count), [step] "r"(apart), [jump] "r"(apart * (lanes)) \
                   : "r0", "lr", "q0", "q1", "cc", "memory")

/* to[i] = from[i * step] */
static void nncc_pick(int8_t *to, const int8_t *from, int32_t step, int32_t n)
{
    NNCC_REG(int8_t *, near, "r1", to);
    NNCC_REG(const int8_t *, far, "r2", from);
    NNCC_REG(int32_t, apart, "r3", step);
    NNCC_REG(int32_t, count, "r4", n);

    if (step <= NNCC_BYTE_STEP) {
        NNCC_LINE("8", 16, "vldrb.u8 q0, [%[far], q1]\n\t", "vstrb.8 q0, [%[near]], #16\n\t");
    } else {
        NNCC_LINE("16", 8, "vldrb.u16 q0, [%[far], q1]\n\t", "vstrb.16 q0, [%[near]], #8\n\t");
    }
}

/* to[i * step] = from[i] */
static void nncc_spread(int8_t *to, const int8_t *from, int32_t step, int32_t n)
{
    NNCC_REG(const int8_t *, near, "r1", from);
    NNCC_REG(int8_t *, far, "r2", to);
    NNCC_REG(int32_t, apart, "r3", step);
    NNCC_REG(int32_t, count, "r4", n);

    if (step <= NNCC_BYTE_STEP) {
        NNCC_LINE("8", 16, "vldrb.8 q0, [%[near]], #16\n\t", "vstrb.8 q0, [%[far], q1]\n\t");
    } else {
        NNCC_LINE("16", 8, "vldrb.u16 q0, [%[near]], #8\n\t", "vstrb.16 q0, [%[far], q1]\n\t");
    }
}

#elif NNCC_HELIUM_MVE

/* to[i] = from[i * step] */
static void nncc_pick(int8_t *to, const int8_t *from, int32_t step, int32_t n)
{
    const uint16x8_t at = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);

    for (; n > 0; n -= 8) {
        const mve_pred16_t rest = vctp16q((uint32_t)n);

        vstrbq_p_s16(to, vldrbq_gather_offset_z_s16(from, at, rest), rest);
        to += 8;
        from += 8 * step;
    }
}

/* to[i * step] = from[i] */
static void nncc_spread(int8_t *to, const int8_t *from, int32_t step, int32_t n)
{
    const uint16x8_t at = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);

    for (; n > 0; n -= 8) {
        const mve_pred16_t rest = vctp16q((uint32_t)n);

        vstrbq_scatter_offset_p_s16(to, at, vldrbq_z_s16(from, rest), rest);
        to += 8 * step;
        from += 8;
    }
}

#else

static void nncc_pick(int8_t *to, const int8_t *from, int32_t step, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        to[i] = from[i * step];
    }
}

static void nncc_spread(int8_t *to, const int8_t *from, int32_t step, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        to[i * step] = from[i];
    }
}

#endif

void nncc_helium_transpose_s8(const nncc_helium_transpose_params *p, const int8_t *x, int8_t *y)
{
    for (int32_t n = 0; n < p->batches; n++) {
        if (p->rows > p->cols) {
            for (int32_t i = 0; i < p->cols; i++) {
                nncc_pick(y + i * p->rows, x + i, p->cols, p->rows);
            }
        } else {
            for (int32_t i = 0; i < p->rows; i++) {
                nncc_spread(y + i, x + i * p->cols, p->rows, p->cols);
            }
        }
        x += p->rows * p->cols;
        y += p->rows * p->cols;
    }
}
