/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_helium_residual.h: results that wait for their addition. */
#include "nncc_helium_lut.h"

/* Adds n elements, one after the other in memory. */
static inline void nncc_residual_run(const nncc_helium_residual_params *r, nncc_helium_add_linear_fn *fn,
                                     const int8_t *wait, const int8_t *other, int8_t *y, int32_t n)
{
    if (r->swapped != 0) {
        fn(&r->sum, other, wait, y, n);
    } else {
        fn(&r->sum, wait, other, y, n);
    }
}

/* Adds the results of some pixels, which are in `wait`, and stores them to y. */
static inline void nncc_residual_flush(const nncc_helium_residual_params *r, nncc_helium_add_linear_fn *fn,
                                       int32_t channels, int8_t *wait, const int8_t *other, int8_t *y, int32_t pixels)
{
    if (r->table != NULL) {
        nncc_helium_map(wait, r->table, pixels * channels);
    }
    if (r->pitch == channels && r->other_pitch == channels) {
        nncc_residual_run(r, fn, wait, other, y, pixels * channels);
        return;
    }
    for (; pixels > 0; pixels--) {
        nncc_residual_run(r, fn, wait, other, y, channels);
        wait += channels;
        other += r->other_pitch;
        y += r->pitch;
    }
}
