/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_residual.h: results that wait for their addition. */
#include "nncc_dsp.h"

/* Adds the results of some pixels and stores them to y. */
static inline void nncc_dsp_flush(const nncc_dsp_residual_params *r, int32_t pixels, int32_t channels,
                                  const int8_t *wait, const int8_t *other, int8_t *y, const int32_t *t_result,
                                  const int32_t *t_other)
{
    nncc_dsp_add_params sum = r->sum;

    sum.count = channels;
    if (r->pitch == channels && r->other_pitch == channels) {
        sum.count *= pixels;
        pixels = 1;
    }
    for (; pixels > 0; pixels--) {
        nncc_dsp_add_s8(&sum, wait, other, t_result, t_other, y);
        wait += channels;
        other += r->other_pitch;
        y += r->pitch;
    }
}
