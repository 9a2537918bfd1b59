/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_core.h"

#if NNCC_HELIUM_ASM

void nncc_helium_add_s8(const nncc_helium_add_params *p, const int8_t *x, const int8_t *y, int8_t *out)
{
    NNCC_REG(const int8_t *, from, "r0", x);
    NNCC_REG(const int8_t *, other, "r1", y);
    NNCC_REG(int8_t *, to, "r2", out);
    NNCC_REG(const nncc_helium_add_params *, params, "lr", p);

    /* clang-format off */
    __asm volatile("ldr r3, [%[p], #4]\n\t"
                   "vdup.32 q4, r3\n\t"
                   "ldr r3, [%[p], #20]\n\t"
                   "vdup.32 q5, r3\n\t"
                   "ldrd r3, r4, [%[p], #44]\n\t"
                   "vdup.32 q3, r3\n\t"
                   "vdup.32 q6, r4\n\t"
                   "ldr r3, [%[p], #52]\n\t"
                   "vdup.32 q7, r3\n\t"
                   "ldrd r3, r4, [%[p], #8]\n\t"
                   "ldr r5, [%[p], #16]\n\t"
                   "rsb r5, r5, #0\n\t"
                   "ldrd r6, r8, [%[p], #24]\n\t"
                   "ldr r9, [%[p], #32]\n\t"
                   "rsb r9, r9, #0\n\t"
                   "ldrd r10, r11, [%[p], #36]\n\t"
                   "rsb r11, r11, #0\n\t"
                   "ldr r12, [%[p]]\n\t"
                   "wlstp.32 lr, r12, 2f\n"
                   "1:\n\t"
                   "vldrb.s32 q0, [%[x]], #4\n\t"
                   "vldrb.s32 q1, [%[y]], #4\n\t"
                   "vmlas.s32 q0, q4, r3\n\t"
                   "vmlas.s32 q1, q5, r6\n\t"
                   "vqrdmulh.s32 q0, q0, r4\n\t"
                   "vqrdmulh.s32 q1, q1, r8\n\t"
                   NNCC_ROUND_ALL(q0, q2)
                   "vrshl.s32 q0, r5\n\t"
                   NNCC_ROUND_ALL(q1, q2)
                   "vrshl.s32 q1, r9\n\t"
                   "vadd.i32 q0, q0, q1\n\t"
                   "vqrdmulh.s32 q0, q0, r10\n\t"
                   NNCC_ROUND_ALL(q0, q2)
                   "vrshl.s32 q0, r11\n\t"
                   "vadd.i32 q0, q0, q3\n\t"
                   "vmax.s32 q0, q0, q6\n\t"
                   "vmin.s32 q0, q0, q7\n\t"
                   "vstrb.32 q0, [%[out]], #4\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [x] "+r"(from), [y] "+r"(other), [out] "+r"(to), [p] "+r"(params)
                   :
                   : "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "q0", "q1", "q2", "q3", "q4", "q5",
                     "q6",
                     "q7", "cc", "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

/* Rounded to the right, ties away from zero. */
static inline int32x4_t nncc_shifted4(int32x4_t v, int32_t shift)
{
    return vrshlq_n_s32(NNCC_ROUND_ALL(v), -shift);
}

static inline int32x4_t nncc_add4(const nncc_helium_add_params *p, int32x4_t x, int32x4_t y)
{
    x = vqrdmulhq_n_s32(vmlasq_n_s32(x, vdupq_n_s32(p->x_unit), p->x_offset), p->x_mult);
    y = vqrdmulhq_n_s32(vmlasq_n_s32(y, vdupq_n_s32(p->y_unit), p->y_offset), p->y_mult);
    x = vaddq_s32(nncc_shifted4(x, p->x_shift), nncc_shifted4(y, p->y_shift));
    x = vaddq_n_s32(nncc_shifted4(vqrdmulhq_n_s32(x, p->mult), p->shift), p->zero);
    return vminq_s32(vmaxq_s32(x, vdupq_n_s32(p->act_min)), vdupq_n_s32(p->act_max));
}

void nncc_helium_add_s8(const nncc_helium_add_params *params, const int8_t *x, const int8_t *y, int8_t *out)
{
    const nncc_helium_add_params own = *params, *const p = &own; /* which no output overlaps */
    const mve_pred16_t rest = vctp32q((uint32_t)p->n & 3);
    int32_t n;

    for (n = p->n >> 2; n > 0; n--) {
        vstrbq_s32(out, nncc_add4(p, vldrbq_s32(x), vldrbq_s32(y)));
        x += 4;
        y += 4;
        out += 4;
    }
    if ((p->n & 3) != 0) {
        vstrbq_p_s32(out, nncc_add4(p, vldrbq_z_s32(x, rest), vldrbq_z_s32(y, rest)), rest);
    }
}

#else

void nncc_helium_add_s8(const nncc_helium_add_params *p, const int8_t *x, const int8_t *y, int8_t *out)
{
    int32_t i;

    for (i = 0; i < p->n; i++) {
        int32_t a = nncc_rq_shift_right(nncc_rq_high_mult(x[i] * p->x_unit + p->x_offset, p->x_mult), p->x_shift);
        int32_t b = nncc_rq_shift_right(nncc_rq_high_mult(y[i] * p->y_unit + p->y_offset, p->y_mult), p->y_shift);

        out[i] = nncc_rq_s8((uint32_t)(a + b), p->mult, -p->shift, p->zero, p->act_min, p->act_max);
    }
}

#endif
