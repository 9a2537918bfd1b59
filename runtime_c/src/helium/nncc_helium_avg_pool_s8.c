/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_avg_pool.h"

#define NNCC_LANES 8

#if NNCC_HELIUM_MVE

/* Elements that a 16-bit sum holds. */
#define NNCC_POOL_CHUNK 255

#if NNCC_HELIUM_ASM

/* Adds n pixels (at most NNCC_POOL_CHUNK) to sum: even channels first. */
static inline void nncc_pool_add(int32_t *sum, const int8_t *from, int32_t pitch, int32_t lanes, int32_t n)
{
    NNCC_REG(const int8_t *, x, "r0", from); /* a widening load wants one of r0 to r7 */

    __asm volatile("vctp.16 %[lanes]\n\t"
                   "vmov.i32 q0, #0\n\t"
                   "dls lr, %[n]\n"
                   "1:\n\t"
                   "vpst\n\t"
                   "vldrbt.s16 q1, [%[x]]\n\t"
                   "add %[x], %[x], %[pitch]\n\t"
                   "vadd.i16 q0, q0, q1\n\t"
                   "le lr, 1b\n\t"
                   "vldrw.32 q2, [%[sum]]\n\t"
                   "vldrw.32 q3, [%[sum], #16]\n\t"
                   "vmovlb.s16 q1, q0\n\t"
                   "vmovlt.s16 q0, q0\n\t"
                   "vadd.i32 q2, q2, q1\n\t"
                   "vadd.i32 q3, q3, q0\n\t"
                   "vstrw.32 q2, [%[sum]]\n\t"
                   "vstrw.32 q3, [%[sum], #16]\n\t"
                   : [x] "+r"(x)
                   : [sum] "r"(sum), [pitch] "r"(pitch), [lanes] "r"(lanes), [n] "r"(n)
                   : "q0", "q1", "q2", "q3", "lr", "cc", "memory");
}

/* The first `lanes` averages; scale is 2^31 / count, rounded up. */
static inline void nncc_pool_divide(const nncc_helium_pool_params *p, const int32_t *sum, int32_t count, int32_t scale,
                                    int32_t lanes, int8_t *to)
{
    NNCC_REG(int8_t *, y, "r0", to);
    NNCC_REG(const int32_t *, s, "r1", sum);
    NNCC_REG(int32_t, half, "r2", count / 2);
    NNCC_REG(int32_t, m, "r3", scale);
    NNCC_REG(int32_t, n, "r4", lanes);
    NNCC_REG(int32_t, lo, "r5", p->act_min);
    NNCC_REG(int32_t, hi, "r6", p->act_max);

    __asm volatile("vldrw.32 q0, [%[s]]\n\t"
                   "vldrw.32 q1, [%[s], #16]\n\t"
                   "vshr.s32 q2, q0, #31\n\t"
                   "vshr.s32 q3, q1, #31\n\t"
                   "vabs.s32 q0, q0\n\t"
                   "vabs.s32 q1, q1\n\t"
                   "vadd.i32 q0, q0, %[half]\n\t"
                   "vadd.i32 q1, q1, %[half]\n\t"
                   "vqdmulh.s32 q0, q0, %[m]\n\t"
                   "vqdmulh.s32 q1, q1, %[m]\n\t"
                   "veor q0, q0, q2\n\t"
                   "veor q1, q1, q3\n\t"
                   "vsub.i32 q0, q0, q2\n\t"
                   "vsub.i32 q1, q1, q3\n\t"
                   "vmovnb.i32 q0, q0\n\t"
                   "vmovnt.i32 q0, q1\n\t"
                   "vdup.16 q2, %[lo]\n\t"
                   "vdup.16 q3, %[hi]\n\t"
                   "vmax.s16 q0, q0, q2\n\t"
                   "vmin.s16 q0, q0, q3\n\t"
                   "vctp.16 %[n]\n\t"
                   "vpst\n\t"
                   "vstrbt.16 q0, [%[y]]\n\t"
                   :
                   : [y] "r"(y), [s] "r"(s), [half] "r"(half), [m] "r"(m), [n] "r"(n), [lo] "r"(lo), [hi] "r"(hi)
                   : "q0", "q1", "q2", "q3", "cc", "memory");
}

#else

/* Adds n pixels (at most NNCC_POOL_CHUNK) to sum: even channels first. */
static inline void nncc_pool_add(int32_t *sum, const int8_t *x, int32_t pitch, int32_t lanes, int32_t n)
{
    int16x8_t v = vdupq_n_s16(0);

    if (lanes < NNCC_LANES) {
        const mve_pred16_t in = vctp16q((uint32_t)lanes);

        for (; n > 0; n--) {
            v = vaddq_s16(v, vldrbq_z_s16(x, in));
            x += pitch;
        }
    }
    for (; n > 0; n--) {
        v = vaddq_s16(v, vldrbq_s16(x));
        x += pitch;
    }
    vstrwq_s32(sum, vaddq_s32(vldrwq_s32(sum), vmovlbq_s16(v)));
    vstrwq_s32(sum + 4, vaddq_s32(vldrwq_s32(sum + 4), vmovltq_s16(v)));
}

static inline int32x4_t nncc_pool_mean(int32x4_t v, int32_t half, int32_t scale)
{
    const int32x4_t sign = vshrq_n_s32(v, 31);

    v = vqdmulhq_n_s32(vaddq_n_s32(vabsq_s32(v), half), scale);
    return vsubq_s32(veorq_s32(v, sign), sign);
}

/* The first `lanes` averages; scale is 2^31 / count, rounded up. */
static inline void nncc_pool_divide(const nncc_helium_pool_params *p, const int32_t *sum, int32_t count, int32_t scale,
                                    int32_t lanes, int8_t *y)
{
    const int32x4_t even = nncc_pool_mean(vldrwq_s32(sum), count / 2, scale);
    const int32x4_t odd = nncc_pool_mean(vldrwq_s32(sum + 4), count / 2, scale);
    int16x8_t v = vmovntq_s32(vmovnbq_s32(vreinterpretq_s16_s32(even), even), odd);

    v = vminq_s16(vmaxq_s16(v, vdupq_n_s16((int16_t)p->act_min)), vdupq_n_s16((int16_t)p->act_max));
    vstrbq_p_s16(y, v, vctp16q((uint32_t)lanes));
}

#endif

static void nncc_pool_window(const nncc_helium_pool_params *p, const nncc_window *w, int8_t *y)
{
    int32_t count = w->runs * w->length;
    int32_t scale = (int32_t)((0x80000000u + (uint32_t)count - 1u) / (uint32_t)count);
    int32_t c;
    int32_t r;
    int32_t i;

    if (count == 1) { /* 2^31 is no int32_t; and (v + 0) * (2^31 - 1) / 2^31 would be less than v */
        for (c = 0; c < p->channels; c++) {
            int32_t v = w->x[c] > p->act_max ? p->act_max : w->x[c];

            y[c] = (int8_t)(v < p->act_min ? p->act_min : v);
        }
        return;
    }
    for (c = 0; c < p->channels; c += NNCC_LANES) {
        int32_t lanes = p->channels - c < NNCC_LANES ? p->channels - c : NNCC_LANES;
        int32_t sum[NNCC_LANES] = {0, 0, 0, 0, 0, 0, 0, 0};

        for (r = 0; r < w->runs; r++) {
            const int8_t *x = w->x + r * w->step + c;

            for (i = w->length; i > 0; i -= NNCC_POOL_CHUNK) {
                int32_t n = i < NNCC_POOL_CHUNK ? i : NNCC_POOL_CHUNK;

                nncc_pool_add(sum, x, p->in_pitch, lanes, n);
                x += n * p->in_pitch;
            }
        }
        nncc_pool_divide(p, sum, count, scale, lanes, y + c);
    }
}

#endif

void nncc_helium_avg_pool_s8(const nncc_helium_pool_params *p, const int8_t *x, int8_t *y)
{
    nncc_pool(p, x, y);
}
