/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_f32.h"
#include "nncc_f32_matmul.h"

#if NNCC_F32_ROWS > 0
/* One product of matrices whose rows are runs of memory, by 8 columns, the last of which overlap the ones before. */
static void nncc_f32_matmul_blocks(const nncc_batch_matmul_params *p, const float *a, const float *b, float *y)
{
    const int32_t step = p->b_row * (int32_t)sizeof(float);

    for (int32_t i = 0; i < p->m;) {
        const int32_t left = p->m - i;
        const float *rows[NNCC_F32_ROWS];

        for (int32_t r = 0; r < NNCC_F32_ROWS; r++) { /* the last one again where there are less */
            rows[r] = a + (i + (r < left ? r : left - 1)) * p->a_row;
        }
        for (int32_t next = 0; next < p->n; next += NNCC_F32_COLUMNS) {
            const int32_t j = next + NNCC_F32_COLUMNS <= p->n ? next : p->n - NNCC_F32_COLUMNS;
            float *to[NNCC_F32_ROWS];

            for (int32_t r = 0; r < NNCC_F32_ROWS; r++) {
                to[r] = y + (i + (r < left ? r : left - 1)) * p->n + j;
            }
            if (left > 1) {
                nncc_f32_matmul_rows(rows, b + j, step, p->k, to);
            } else {
                nncc_f32_matmul_row(rows[0], b + j, step, p->k, to[0]);
            }
        }
        i += NNCC_F32_ROWS;
    }
}
#endif

/* One product: y [m,n] = a [m,k] * b [k,n], four columns at a time. */
static void nncc_matmul_one(const nncc_batch_matmul_params *p, const float *a, const float *b, float *y)
{
    for (int32_t i = 0; i < p->m; i++) {
        int32_t j = 0;

        for (; j + 4 <= p->n; j += 4) {
            int32_t ia = i * p->a_row;
            int32_t ib = j * p->b_col;
            float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};

            for (int32_t k = 0; k < p->k; k++) {
                const float v = a[ia];

                acc[0] += v * b[ib];
                acc[1] += v * b[ib + p->b_col];
                acc[2] += v * b[ib + 2 * p->b_col];
                acc[3] += v * b[ib + 3 * p->b_col];
                ia += p->a_col;
                ib += p->b_row;
            }
            y[j] = acc[0];
            y[j + 1] = acc[1];
            y[j + 2] = acc[2];
            y[j + 3] = acc[3];
        }
        for (; j < p->n; j++) {
            int32_t ia = i * p->a_row;
            int32_t ib = j * p->b_col;
            float acc = 0.0f;

            for (int32_t k = 0; k < p->k; k++) {
                acc += a[ia] * b[ib];
                ia += p->a_col;
                ib += p->b_row;
            }
            y[j] = acc;
        }
        y += p->n;
    }
}

void nncc_batch_matmul_f32(const nncc_batch_matmul_params *p, const float *a, const float *b, float *y)
{
    int32_t index[NNCC_MAX_DIMS] = {0};
    int32_t ia = 0;
    int32_t ib = 0;

    do {
#if NNCC_F32_ROWS > 0
        if (p->a_col == 1 && p->b_col == 1 && p->n >= NNCC_F32_COLUMNS) {
            nncc_f32_matmul_blocks(p, a + ia, b + ib, y);
        } else
#endif
        {
            nncc_matmul_one(p, a + ia, b + ib, y);
        }
        y += p->m * p->n;
    } while (nncc_bcast_next(&p->batch, p->batch.rank, index, &ia, &ib) != 0);
}
