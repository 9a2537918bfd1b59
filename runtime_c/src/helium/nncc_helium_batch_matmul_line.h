/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_batch_matmul_line.h: a row or a column of a matrix of nncc_helium_batch_matmul_s8 as vectors.
 */
#include "nncc_helium_core.h"

/* n values, `stride` apart, to vectors of 16 that are `next` bytes apart, the last one filled up with 0: their sum. */
static int32_t nncc_bmm_line(const int8_t *x, int32_t n, int32_t stride, int8_t *to, int32_t next)
{
    const int32_t rest = n & (NNCC_HELIUM_BYTES - 1);
    int32_t sum = 0;

#if NNCC_HELIUM_MVE
    if (stride == 1 && n <= NNCC_HELIUM_BYTES) {
        const int8x16_t v = vldrbq_z_s8(x, vctp8q((uint32_t)n));

        vstrbq_s8(to, v);
        return vaddvq_s8(v);
    }
#endif
    if (rest != 0) {
        memset(to + n / NNCC_HELIUM_BYTES * next, 0, NNCC_HELIUM_BYTES);
    }
#if NNCC_HELIUM_ASM
    if (stride == 1) {
        NNCC_REG(const int8_t *, from, "r0", x);
        NNCC_REG(int32_t, s, "r2", 0);
        NNCC_REG(int32_t, count, "r3", n);
        NNCC_REG(int8_t *, y, "r1", to);
        NNCC_REG(int32_t, step, "r4", next);

        __asm volatile("wlstp.8 lr, %[n], 2f\n"
                       "1:\n\t"
                       "vldrb.8 q0, [%[x]], #16\n\t"
                       "vaddva.s8 %[s], q0\n\t"
                       "vstrb.8 q0, [%[y]]\n\t"
                       "add %[y], %[y], %[step]\n\t"
                       "letp lr, 1b\n"
                       "2:\n\t"
                       : [x] "+r"(from), [y] "+r"(y), [s] "+r"(s)
                       : [n] "r"(count), [step] "r"(step)
                       : "lr", "q0", "cc", "memory");
        return s;
    }
    if (stride <= 65535 / 8) {
        NNCC_REG(const int8_t *, from, "r0", x);
        NNCC_REG(int32_t, s, "r2", 0);
        NNCC_REG(int32_t, count, "r3", n);
        NNCC_REG(int8_t *, y, "r1", to);
        NNCC_REG(int32_t, by, "r4", stride);
        NNCC_REG(int32_t, step, "r5", next - 8);

        /* Halves of vectors: the pointer goes up by 8 and by next - 8 in turn. */
        __asm volatile("movs r6, #0\n\t"
                       "vidup.u16 q1, r6, #1\n\t"
                       "vmul.i16 q1, q1, %[by]\n\t"
                       "lsl %[by], %[by], #3\n\t"
                       "movs r6, #8\n\t"
                       "eor %[step], %[step], r6\n\t"
                       "wlstp.16 lr, %[n], 2f\n"
                       "1:\n\t"
                       "vldrb.s16 q0, [%[x], q1]\n\t"
                       "add %[x], %[x], %[by]\n\t"
                       "vaddva.s16 %[s], q0\n\t"
                       "vstrb.16 q0, [%[y]]\n\t"
                       "add %[y], %[y], r6\n\t"
                       "eor r6, r6, %[step]\n\t"
                       "letp lr, 1b\n"
                       "2:\n\t"
                       : [x] "+r"(from), [y] "+r"(y), [s] "+r"(s), [by] "+r"(by), [step] "+r"(step)
                       : [n] "r"(count)
                       : "r6", "lr", "q0", "q1", "cc", "memory");
        return s;
    }
#elif NNCC_HELIUM_MVE
    if (stride == 1) {
        for (; n > 0; n -= NNCC_HELIUM_BYTES) {
            const mve_pred16_t part = vctp8q((uint32_t)n);
            const int8x16_t v = vldrbq_z_s8(x, part); /* zeros beyond */

            sum = vaddvaq_s8(sum, v);
            vstrbq_p_s8(to, v, part);
            x += NNCC_HELIUM_BYTES;
            to += next;
        }
        return sum;
    }
    if (stride <= 65535 / 8) {
        const uint16x8_t at = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)stride);

        for (int32_t i = 0; i < n; i += 8) {
            const mve_pred16_t part = vctp16q((uint32_t)(n - i));
            const int16x8_t v = vldrbq_gather_offset_z_s16(x, at, part);

            sum = vaddvaq_s16(sum, v);
            vstrbq_p_s16(to + i / NNCC_HELIUM_BYTES * next + i % NNCC_HELIUM_BYTES, v, part);
            x += 8 * stride;
        }
        return sum;
    }
#endif
    for (int32_t i = 0; i < n; i++) {
        const int8_t v = x[i * stride];

        to[i / NNCC_HELIUM_BYTES * next + i % NNCC_HELIUM_BYTES] = v;
        sum += v;
    }
    return sum;
}
