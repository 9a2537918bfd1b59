/* nncc_argmax_f32: position of the maximum along an axis. */
#include "nncc_fp.h"

#include "nncc_f32.h"

void nncc_argmax_f32(const nncc_arg_params *p, const float *x, int64_t *y)
{
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            float best = x[i];
            int32_t at = 0;

            for (int32_t k = 1; k < p->axis; k++) {
                const float v = x[k * p->inner + i];

                if (v > best || (v == best && p->select_last != 0)) {
                    best = v;
                    at = k;
                }
            }
            *y++ = at;
        }
        x += p->axis * p->inner;
    }
}
