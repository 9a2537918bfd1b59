/* nncc_reduce_max_s8: int8 maximum along an axis. */
#include "nncc_s8.h"

void nncc_reduce_max_s8(const nncc_axis_s8_params *p, const int8_t *x, int8_t *y)
{
    const int32_t span = p->axis * p->inner;

    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            int8_t best = x[i];

            for (int32_t k = i; k < span; k += p->inner) {
                if (x[k] > best) {
                    best = x[k];
                }
            }
            *y++ = best;
        }
        x += span;
    }
}
