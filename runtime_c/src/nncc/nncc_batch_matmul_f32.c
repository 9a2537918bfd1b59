/* nncc_batch_matmul_f32: batched matrix product of two run-time matrices, any strides. */
#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_f32.h"

/* One product: y [m,n] = a [m,k] * b [k,n]. */
static void nncc_matmul_one(const nncc_batch_matmul_params *p, const float *a, const float *b, float *y)
{
    for (int32_t i = 0; i < p->m; i++) {
        for (int32_t j = 0; j < p->n;) {
            const int32_t lanes = p->n - j >= 4 ? 4 : 1;
            int32_t ia = i * p->a_row;
            int32_t ib = j * p->b_col;
            float a0 = 0.0f;
            float a1 = 0.0f;
            float a2 = 0.0f;
            float a3 = 0.0f;

            for (int32_t k = 0; k < p->k; k++) {
                const float v = a[ia];

                a0 += v * b[ib];
                if (lanes == 4) {
                    a1 += v * b[ib + p->b_col];
                    a2 += v * b[ib + 2 * p->b_col];
                    a3 += v * b[ib + 3 * p->b_col];
                }
                ia += p->a_col;
                ib += p->b_row;
            }
            y[j] = a0;
            if (lanes == 4) {
                y[j + 1] = a1;
                y[j + 2] = a2;
                y[j + 3] = a3;
            }
            j += lanes;
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
        nncc_matmul_one(p, a + ia, b + ib, y);
        y += p->m * p->n;
    } while (nncc_bcast_next(&p->batch, p->batch.rank, index, &ia, &ib) != 0);
}
