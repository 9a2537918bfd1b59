/* nncc_argmin_s8: position of the int8 minimum along an axis. */
#include "nncc_s8.h"

void nncc_argmin_s8(const nncc_arg_s8_params *p, const int8_t *x, int64_t *y)
{
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            int8_t best = x[i];
            int32_t at = 0;

            for (int32_t k = 1; k < p->axis; k++) {
                const int8_t v = x[k * p->inner + i];

                if (v < best || (v == best && p->select_last != 0)) {
                    best = v;
                    at = k;
                }
            }
            *y++ = at;
        }
        x += p->axis * p->inner;
    }
}
