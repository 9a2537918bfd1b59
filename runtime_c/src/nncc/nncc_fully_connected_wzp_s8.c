/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_requant.h"
#include "nncc_s8.h"

void nncc_fully_connected_wzp_s8(const nncc_fully_connected_wzp_s8_params *p, const int8_t *x, const int8_t *w,
                                 const int32_t *b, const int32_t *w_zero, const int32_t *mult, const int32_t *shift,
                                 int8_t *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        const int8_t *k = w;

        for (int32_t o = 0; o < p->out_n; o++) {
            const int32_t zero = w_zero[o];
            uint32_t acc = b != NULL ? (uint32_t)b[o] : 0u;

            for (int32_t i = 0; i < p->in_n; i++) {
                acc += (uint32_t)((x[i] + p->in_offset) * (k[i] - zero));
            }
            y[o] = nncc_rq_s8(acc, mult[o], shift[o], p->out_offset, p->act_min, p->act_max);
            k += p->in_n;
        }
        x += p->in_n;
        y += p->out_n;
    }
}
