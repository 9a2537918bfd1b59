/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_fours.h"

#if NNCC_HELIUM_ASM

/* The maxima of the first `lanes` of 16 channels from w->x + c on. */
static inline void nncc_pool_max(const nncc_helium_pool_params *p, const nncc_window *w, int32_t c, int32_t lanes,
                                 int8_t *y)
{
    NNCC_REG(const int8_t *, x, "r0", w->x + c);
    NNCC_REG(const int8_t *, row, "r1", w->x + c);
    NNCC_REG(int32_t, runs, "r2", w->runs);
    NNCC_REG(int32_t, length, "r3", w->length);
    NNCC_REG(int32_t, step, "r4", w->step);
    NNCC_REG(int32_t, pitch, "r5", p->in_pitch);
    NNCC_REG(int32_t, n, "r6", lanes);
    NNCC_REG(int8_t *, to, "r8", y);
    NNCC_REG(int32_t, lo, "r9", p->act_min);
    NNCC_REG(int32_t, hi, "r10", p->act_max);

    __asm volatile("vctp.8 %[n]\n\t"
                   "vdup.8 q0, %[lo]\n\t"
                   "vdup.8 q2, %[hi]\n"
                   "1:\n\t"
                   "dls lr, %[length]\n"
                   "2:\n\t"
                   "vpst\n\t"
                   "vldrbt.8 q1, [%[x]]\n\t"
                   "add %[x], %[x], %[pitch]\n\t"
                   "vmax.s8 q0, q0, q1\n\t"
                   "le lr, 2b\n\t"
                   "add %[row], %[row], %[step]\n\t"
                   "mov %[x], %[row]\n\t"
                   "subs %[runs], %[runs], #1\n\t"
                   "bne 1b\n\t"
                   "vmin.s8 q0, q0, q2\n\t"
                   "vpst\n\t"
                   "vstrbt.8 q0, [%[y]]\n\t"
                   : [x] "+r"(x), [row] "+r"(row), [runs] "+r"(runs)
                   : [length] "r"(length), [step] "r"(step), [pitch] "r"(pitch), [n] "r"(n), [y] "r"(to), [lo] "r"(lo),
                     [hi] "r"(hi)
                   : "q0", "q1", "q2", "lr", "cc", "memory");
}

static void nncc_pool_window(const nncc_helium_pool_params *p, const nncc_window *w, int8_t *y)
{
    for (int32_t c = 0; c < p->channels; c += NNCC_HELIUM_BYTES) {
        nncc_pool_max(p, w, c, p->channels - c < NNCC_HELIUM_BYTES ? p->channels - c : NNCC_HELIUM_BYTES, y + c);
    }
}

static void nncc_pool_four(const nncc_helium_pool_params *p, const int8_t *x, int32_t right, int32_t down, int32_t n,
                           int8_t *y)
{
    NNCC_POOL_FOUR("8", 16, "vldrb.8", "vmax.s8 q0, q0, q1\n\tvmax.s8 q2, q2, q3\n\tvmax.s8 q0, q0, q2\n\t", "vstrb.8");
}

#elif NNCC_HELIUM_MVE

static void nncc_pool_window(const nncc_helium_pool_params *p, const nncc_window *w, int8_t *y)
{
    const int32_t pitch = p->in_pitch;

    for (int32_t c = 0; c < p->channels; c += NNCC_HELIUM_BYTES) {
        const mve_pred16_t lanes = vctp8q((uint32_t)(p->channels - c));
        int8x16_t v = vdupq_n_s8((int8_t)p->act_min);

        for (int32_t r = 0; r < w->runs; r++) {
            const int8_t *x = w->x + r * w->step + c;

            for (int32_t i = w->length; i > 0; i--) {
                v = vmaxq_s8(v, vldrbq_z_s8(x, lanes));
                x += pitch;
            }
        }
        vstrbq_p_s8(y + c, vminq_s8(v, vdupq_n_s8((int8_t)p->act_max)), lanes);
    }
}

#else

static void nncc_pool_window(const nncc_helium_pool_params *p, const nncc_window *w, int8_t *y)
{
    for (int32_t c = 0; c < p->channels; c++) {
        int32_t v = p->act_min;

        for (int32_t r = 0; r < w->runs; r++) {
            for (int32_t i = 0; i < w->length; i++) {
                int32_t e = w->x[r * w->step + i * p->in_pitch + c];

                v = e > v ? e : v;
            }
        }
        y[c] = (int8_t)(v > p->act_max ? p->act_max : v);
    }
}

#endif

void nncc_helium_max_pool_s8(const nncc_helium_pool_params *p, const int8_t *x, int8_t *y)
{
    nncc_pool_windows(p, x, y);
}
