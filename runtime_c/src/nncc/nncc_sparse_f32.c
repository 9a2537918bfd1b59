/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_sparse_f32: y = clamp(x * w^T + b), w a background with runs of other weights. Helium takes
 * four rows of x at a time, one a lane: 4 MACs take a gathered load, a product, a sum and a scalar load.
 */
#include "nncc_fp.h"

#include "nncc_dot_f32.h"
#include "nncc_f32.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && !defined(__ARM_BIG_ENDIAN)
#include <arm_mve.h>

/* Four rows. */
static void nncc_sparse_f32_rows(const nncc_sparse_params *p, const float *x, const int32_t *runs, const float *w,
                                 const float *b, float *y)
{
    const uint32x4_t in = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)p->in_n);
    float32x4_t all = vdupq_n_f32(0.0f);

    if (p->background != 0.0f) {
        for (int32_t i = 0; i < p->in_n; i++) {
            all = vaddq_f32(all, vldrwq_gather_shifted_offset_f32(x + i, in));
        }
        all = vmulq_n_f32(all, p->background);
    }
    for (int32_t o = 0; o < p->out_n; o++) {
        float32x4_t acc = vdupq_n_f32(0.0f);

        for (int32_t k = *runs++; k > 0; k--) {
            const float *v = x + *runs++;

            for (int32_t i = *runs++; i > 0; i--) {
                acc = vaddq_f32(acc, vmulq_n_f32(vldrwq_gather_shifted_offset_f32(v++, in), *w++));
            }
        }
        if (p->background != 0.0f) {
            acc = vaddq_f32(acc, all);
        }
        if (b != NULL) {
            acc = vaddq_n_f32(acc, b[o]);
        }
        for (int32_t r = 0; r < 4; r++) {
            y[r * p->out_n + o] = nncc_clamp_f32(acc[r], p->act_min, p->act_max);
        }
    }
}
#define NNCC_SPARSE_ROWS 4
#else
#define NNCC_SPARSE_ROWS 0
#endif

void nncc_sparse_f32(const nncc_sparse_params *p, const float *x, const int32_t *runs, const float *w, const float *b,
                     float *y)
{
    int32_t n = 0;

#if NNCC_SPARSE_ROWS
    for (; n + NNCC_SPARSE_ROWS <= p->batch; n += NNCC_SPARSE_ROWS) {
        nncc_sparse_f32_rows(p, x, runs, w, b, y);
        x += NNCC_SPARSE_ROWS * p->in_n;
        y += NNCC_SPARSE_ROWS * p->out_n;
    }
#endif
    for (; n < p->batch; n++) {
        const int32_t *run = runs;
        const float *u = w;
        float all = 0.0f;

        if (p->background != 0.0f) {
            for (int32_t i = 0; i < p->in_n; i++) {
                all += x[i];
            }
            all *= p->background;
        }
        for (int32_t o = 0; o < p->out_n; o++) {
            float acc = 0.0f;

            for (int32_t k = *run++; k > 0; k--) {
                const float *v = x + *run++;
                int32_t i = *run++;

                for (; i >= 4; i -= 4) {
                    acc += v[0] * u[0];
                    acc += v[1] * u[1];
                    acc += v[2] * u[2];
                    acc += v[3] * u[3];
                    v += 4;
                    u += 4;
                }
                for (; i > 0; i--) {
                    acc += *v++ * *u++;
                }
            }
            if (p->background != 0.0f) {
                acc += all;
            }
            if (b != NULL) {
                acc += b[o];
            }
            y[o] = nncc_clamp_f32(acc, p->act_min, p->act_max);
        }
        x += p->in_n;
        y += p->out_n;
    }
}
