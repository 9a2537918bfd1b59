/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_helium_avg_pool.h: the portable body of the average pools. */
#include "nncc_helium_window.h"

#if !NNCC_HELIUM_MVE

static void nncc_pool_window(const nncc_helium_pool_params *p, const nncc_window *w, int8_t *y)
{
    int32_t count = w->runs * w->length;

    for (int32_t c = 0; c < p->channels; c++) {
        int32_t sum = 0;

        for (int32_t r = 0; r < w->runs; r++) {
            for (int32_t i = 0; i < w->length; i++) {
                sum += w->x[r * w->step + i * p->in_pitch + c];
            }
        }
        sum = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
        sum = sum > p->act_max ? p->act_max : sum;
        y[c] = (int8_t)(sum < p->act_min ? p->act_min : sum);
    }
}

#endif
