/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_fully_connected_f32: y = clamp(x * w^T + b). */
#include "nncc_fp.h"

#include "nncc_dot_f32.h"
#include "nncc_f32.h"

void nncc_fully_connected_f32(const nncc_fully_connected_params *p, const float *x, const float *w, const float *b,
                              float *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t o = 0; o < p->out_n;) {
            const int32_t lanes = p->out_n - o >= 4 ? 4 : 1;
            float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};

            nncc_dot_f32(x, w + o * p->in_n, p->in_n, p->in_n, lanes, acc);
            for (int32_t j = 0; j < lanes; j++, o++) {
                const float v = b != NULL ? acc[j] + b[o] : acc[j];
                y[o] = nncc_clamp_f32(v, p->act_min, p->act_max);
            }
        }
        x += p->in_n;
        y += p->out_n;
    }
}
