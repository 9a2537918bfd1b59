/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "mla_kernels.h"
#include "nncc_requant.h"

/* One row of the result. */
static void mla_row(const mla_matmul_params *p, const int8_t *a, const int8_t *b, const int32_t *bias,
                    const int32_t *mult, const int32_t *shift, int8_t *y)
{
    for (int32_t j = 0; j < p->n; j++) {
        const int32_t c = p->per_column != 0 ? j : 0;
        uint32_t acc = bias != NULL ? (uint32_t)bias[j] : 0u;

        for (int32_t k = 0; k < p->k; k++) {
            const int32_t v = a[k * p->a_step[3]] + p->a_offset;

            acc += (uint32_t)(v * (b[k * p->b_step[2] + j * p->b_step[3]] + p->b_offset));
        }
        y[j * p->y_step[3]] = nncc_rq_s8(acc, mult[c], shift[c], p->out_offset, p->act_min, p->act_max);
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
