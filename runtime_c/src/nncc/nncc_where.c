#include "nncc_move.h"
#include "nncc_run.h"

void nncc_where(const nncc_where_params *p, const uint8_t *c, const void *a, const void *b, void *y)
{
    int32_t index[NNCC_MAX_DIMS] = {0};
    uint8_t *to = (uint8_t *)y;
    int32_t ic = 0;
    int32_t ia = 0;
    int32_t ib = 0;
    int32_t d;

    do {
        const uint8_t *from = c[ic] != 0 ? (const uint8_t *)a + ia * p->elem : (const uint8_t *)b + ib * p->elem;

        nncc_run(from, 0, to, 1, 1, p->elem);
        to += p->elem;
        for (d = p->rank - 1; d >= 0; d--) {
            ic += p->c_stride[d];
            ia += p->a_stride[d];
            ib += p->b_stride[d];
            index[d]++;
            if (index[d] < p->dims[d]) {
                break;
            }
            ic -= p->c_stride[d] * p->dims[d];
            ia -= p->a_stride[d] * p->dims[d];
            ib -= p->b_stride[d] * p->dims[d];
            index[d] = 0;
        }
    } while (d >= 0);
}
