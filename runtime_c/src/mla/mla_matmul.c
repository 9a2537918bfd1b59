/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "mla_kernels.h"
#include "nncc_requant.h"

/* acc[j] += row a times columns 0..3 of b. */
static void mla_columns4(const mla_matmul_params *p, const int8_t *a, const int8_t *b, uint32_t acc[4])
{
    const int32_t step = p->b_step[3];
    uint32_t a0 = acc[0];
    uint32_t a1 = acc[1];
    uint32_t a2 = acc[2];
    uint32_t a3 = acc[3];

    for (int32_t k = 0; k < p->k; k++) {
        const int32_t v = a[k * p->a_step[3]] + p->a_offset;
        const int8_t *w = b + k * p->b_step[2];

        a0 += (uint32_t)(v * (w[0] + p->b_offset));
        a1 += (uint32_t)(v * (w[step] + p->b_offset));
        a2 += (uint32_t)(v * (w[2 * step] + p->b_offset));
        a3 += (uint32_t)(v * (w[3 * step] + p->b_offset));
    }
    acc[0] = a0;
    acc[1] = a1;
    acc[2] = a2;
    acc[3] = a3;
}

/* One row of the result. */
static void mla_row(const mla_matmul_params *p, const int8_t *a, const int8_t *b, const int32_t *bias,
                    const int32_t *mult, const int32_t *shift, int8_t *y)
{
    int32_t j = 0;

    while (j < p->n) {
        const int32_t count = p->n - j >= 4 ? 4 : 1;
        uint32_t acc[4] = {0};

        for (int32_t i = 0; i < count; i++) {
            acc[i] = bias != NULL ? (uint32_t)bias[j + i] : 0u;
        }
        if (count == 4) {
            mla_columns4(p, a, b + j * p->b_step[3], acc);
        } else {
            for (int32_t k = 0; k < p->k; k++) {
                acc[0] += (uint32_t)((a[k * p->a_step[3]] + p->a_offset) *
                                     (b[k * p->b_step[2] + j * p->b_step[3]] + p->b_offset));
            }
        }
        for (int32_t i = 0; i < count; i++) {
            const int32_t c = p->per_column != 0 ? j + i : 0;

            y[(j + i) * p->y_step[3]] = nncc_rq_s8(acc[i], mult[c], shift[c], p->out_offset, p->act_min, p->act_max);
        }
        j += count;
    }
}

void mla_matmul(const mla_matmul_params *p, const int8_t *a, const int8_t *b, const int32_t *bias, const int32_t *mult,
                const int32_t *shift, int8_t *y)
{
    for (int32_t i = 0; i < p->batch0; i++) {
        for (int32_t j = 0; j < p->batch1; j++) {
            const int8_t *left = a + i * p->a_step[0] + j * p->a_step[1];
            const int8_t *right = b + i * p->b_step[0] + j * p->b_step[1];
            int8_t *out = y + i * p->y_step[0] + j * p->y_step[1];

            for (int32_t r = 0; r < p->m; r++) {
                mla_row(p, left + r * p->a_step[2], right, bias, mult, shift, out + r * p->y_step[2]);
            }
        }
    }
}
