/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_core.h"

#include "nncc_requant.h"

/* What stands in front of the weights of a channel. */
typedef struct
{
    int32_t bias;
    int32_t mult;
    int32_t left;
    int32_t right; /* negative */
} nncc_line;

#if NNCC_HELIUM_MVE /* no assembly is needed here */

#include <arm_mve.h>

/* Output values of four sums. Ties of the right shift go away from zero. */
static inline int32x4_t nncc_4rows_requantise(const nncc_helium_matmul_params *p, const nncc_line *c, int32x4_t q)
{
    const int32x4_t right = vdupq_n_s32(c->right);

    q = vqrdmulhq_n_s32(vshlq_r_s32(q, c->left), c->mult);
    q = vrshlq_s32(vaddq_s32(q, vshrq_n_s32(vandq_s32(q, right), 31)), right);
    q = vaddq_n_s32(q, p->zero);
    return vminq_s32(vmaxq_s32(q, vdupq_n_s32(p->act_min)), vdupq_n_s32(p->act_max));
}

/* Four rows with all channels. */
static inline void nncc_4rows(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y)
{
    const uint32x4_t rows = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)p->pitch);
    const int8_t *w = packed;

    for (int32_t c = 0; c < p->channels; c++) {
        const nncc_line *line = (const nncc_line *)(const void *)w;
        const int8_t *x0 = x;
        const int8_t *x1 = x0 + p->step;
        const int8_t *x2 = x1 + p->step;
        const int8_t *x3 = x2 + p->step;
        int32_t a0 = line->bias;
        int32_t a1 = a0;
        int32_t a2 = a0;
        int32_t a3 = a0;

        w += sizeof *line;
        for (int32_t k = p->vectors; k > 0; k--) {
            const int8x16_t v = vldrbq_s8(w);

            a0 = vmladavaq_s8(a0, vldrbq_s8(x0), v);
            a1 = vmladavaq_s8(a1, vldrbq_s8(x1), v);
            a2 = vmladavaq_s8(a2, vldrbq_s8(x2), v);
            a3 = vmladavaq_s8(a3, vldrbq_s8(x3), v);
            w += NNCC_HELIUM_BYTES;
            x0 += NNCC_HELIUM_BYTES;
            x1 += NNCC_HELIUM_BYTES;
            x2 += NNCC_HELIUM_BYTES;
            x3 += NNCC_HELIUM_BYTES;
        }
        int32x4_t sums = vsetq_lane_s32(a0, vuninitializedq_s32(), 0);
        sums = vsetq_lane_s32(a1, sums, 1);
        sums = vsetq_lane_s32(a2, sums, 2);
        sums = vsetq_lane_s32(a3, sums, 3);
        vstrbq_scatter_offset_s32(y + c, rows, nncc_4rows_requantise(p, line, sums));
    }
}

/* One row with all channels; the last vector is loaded as far as it is the row's. */
static inline void nncc_1of4rows(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y)
{
    const mve_pred16_t tail = vctp8q((uint32_t)p->tail);
    const int8_t *w = packed;

    for (int32_t c = 0; c < p->channels; c++) {
        const nncc_line *line = (const nncc_line *)(const void *)w;
        const int8_t *from = x;
        int32_t sum = line->bias;

        w += sizeof *line;
        for (int32_t k = p->vectors; k > 1; k--) {
            sum = vmladavaq_s8(sum, vldrbq_s8(from), vldrbq_s8(w));
            w += NNCC_HELIUM_BYTES;
            from += NNCC_HELIUM_BYTES;
        }
        sum = vmladavaq_s8(sum, vldrbq_z_s8(from, tail), vldrbq_s8(w));
        w += NNCC_HELIUM_BYTES;
        y[c] = (int8_t)vgetq_lane_s32(nncc_4rows_requantise(p, line, vdupq_n_s32(sum)), 0);
    }
}

#else

static inline void nncc_1of4rows(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y)
{
    const int32_t depth = NNCC_HELIUM_BYTES * (p->vectors - 1) + p->tail;

    for (int32_t c = 0; c < p->channels; c++) {
        nncc_line line;

        memcpy(&line, packed, sizeof line);
        packed += sizeof line;
        uint32_t sum = (uint32_t)line.bias;
        for (int32_t i = 0; i < depth; i++) {
            sum += (uint32_t)(x[i] * packed[i]);
        }
        y[c] = nncc_rq_s8(sum, line.mult, line.left > 0 ? line.left : line.right, p->zero, p->act_min, p->act_max);
        packed += NNCC_HELIUM_BYTES * p->vectors;
    }
}

static inline void nncc_4rows(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y)
{
    for (int32_t r = 0; r < 4; r++) {
        nncc_1of4rows(p, x + r * p->step, packed, y + r * p->pitch);
    }
}

#endif

void nncc_helium_matmul_4rows_s8(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                                 int32_t rows)
{
    for (; rows >= 4 + p->single; rows -= 4) {
        nncc_4rows(p, x, packed, y);
        x += 4 * p->step;
        y += 4 * p->pitch;
    }
    for (; rows > 0; rows--) {
        nncc_1of4rows(p, x, packed, y);
        x += p->step;
        y += p->pitch;
    }
}
