#include "nncc_fp.h"

#include "nncc_bcast.h"
#include "nncc_f32.h"

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
        nncc_matmul_one(p, a + ia, b + ib, y);
        y += p->m * p->n;
    } while (nncc_bcast_next(&p->batch, p->batch.rank, index, &ia, &ib) != 0);
}
