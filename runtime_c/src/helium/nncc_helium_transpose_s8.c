/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_core.h"

/* Longest step whose 16 multiples up to 15 are byte offsets. */
#define NNCC_BYTE_STEP 17

#if NNCC_HELIUM_ASM

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

/*
 * Lines of n bytes: `move` and `move_rest` copy as many lanes. The last ones end where the line does, over those before
 * them: only lines of fewer want a predicate. Lanes are `near` bytes apart in `to`, `far` bytes in `from`.
 */
#define NNCC_LINE(lanes, ctp, move, move_rest, near, far) \
    do { \
        if (n < (lanes)) { \
            const mve_pred16_t rest = ctp((uint32_t)n); \
\
            move_rest(to, from); \
        } else { \
            const int32_t last = n - (lanes); \
\
            move(to + last * (near), from + last * (far)); \
            for (int32_t k = (n - 1) / (lanes); k > 0; k--) { \
                move(to, from); \
                to += (lanes) * (near); \
                from += (lanes) * (far); \
            } \
        } \
    } while (0)
#define NNCC_PICK8(y, x) vstrbq_s8(y, vldrbq_gather_offset_s8(x, at))
#define NNCC_PICK8_REST(y, x) vstrbq_p_s8(y, vldrbq_gather_offset_z_s8(x, at, rest), rest)
#define NNCC_PICK16(y, x) vstrbq_s16(y, vldrbq_gather_offset_s16(x, at))
#define NNCC_PICK16_REST(y, x) vstrbq_p_s16(y, vldrbq_gather_offset_z_s16(x, at, rest), rest)
#define NNCC_SPREAD8(y, x) vstrbq_scatter_offset_s8(y, at, vldrbq_s8(x))
#define NNCC_SPREAD8_REST(y, x) vstrbq_scatter_offset_p_s8(y, at, vldrbq_z_s8(x, rest), rest)
#define NNCC_SPREAD16(y, x) vstrbq_scatter_offset_s16(y, at, vldrbq_s16(x))
#define NNCC_SPREAD16_REST(y, x) vstrbq_scatter_offset_p_s16(y, at, vldrbq_z_s16(x, rest), rest)

/* to[i] = from[i * step] */
static void nncc_pick(int8_t *to, const int8_t *from, int32_t step, int32_t n)
{
    if (step <= NNCC_BYTE_STEP) {
        const uint8x16_t at = vmulq_n_u8(vidupq_n_u8(0, 1), (uint8_t)step);

        NNCC_LINE(16, vctp8q, NNCC_PICK8, NNCC_PICK8_REST, 1, step);
    } else {
        const uint16x8_t at = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);

        NNCC_LINE(8, vctp16q, NNCC_PICK16, NNCC_PICK16_REST, 1, step);
    }
}

/* to[i * step] = from[i] */
static void nncc_spread(int8_t *to, const int8_t *from, int32_t step, int32_t n)
{
    if (step <= NNCC_BYTE_STEP) {
        const uint8x16_t at = vmulq_n_u8(vidupq_n_u8(0, 1), (uint8_t)step);

        NNCC_LINE(16, vctp8q, NNCC_SPREAD8, NNCC_SPREAD8_REST, step, 1);
    } else {
        const uint16x8_t at = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);

        NNCC_LINE(8, vctp16q, NNCC_SPREAD16, NNCC_SPREAD16_REST, step, 1);
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
