/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* ethosu_pool: greatest elements, means, and sums over the channels. */
#include "ethosu_sim.h"

/* The greatest element or the sum of a window; n is how many it has. */
static int64_t ethosu_pooled(ethosu_device *d, int32_t oy, int32_t ox, int32_t c, uint32_t mode, int64_t *n)
{
    int64_t v = 0;

    *n = 0;
    for (int32_t ky = 0; ky < d->kernel_h; ky++) {
        const int32_t y = ethosu_sample(oy * d->stride_h - d->top + ky * d->dilate_h, d->see_h, d->ifm.h, d->upscale);

        for (int32_t kx = 0; y >= 0 && kx < d->kernel_w; kx++) {
            const int32_t x =
                ethosu_sample(ox * d->stride_w - d->left + kx * d->dilate_w, d->see_w, d->ifm.w, d->upscale);

            if (x >= 0) {
                const int32_t e = ethosu_load(d, &d->ifm, y, x, c);

                if (mode == (uint32_t)ETHOSU_AVERAGE) {
                    v += e;
                } else if (*n == 0 || e > v) {
                    v = e;
                }
                (*n)++;
            }
        }
    }
    return v;
}

static int64_t ethosu_reduced(ethosu_device *d, int32_t y, int32_t x)
{
    int64_t v = 0;

    for (int32_t c = 0; c < d->ifm.c; c++) {
        v += ethosu_load(d, &d->ifm, y, x, c);
    }
    return v;
}

void ethosu_pool(ethosu_device *d, uint32_t mode)
{
    if (mode > (uint32_t)ETHOSU_REDUCE_SUM) {
        d->status = ETHOSU_ERR_COMMAND;
    }
    for (int32_t y = 0; y < d->ofm.h && d->status == ETHOSU_OK; y++) {
        for (int32_t x = 0; x < d->ofm.w; x++) {
            for (int32_t c = 0; c < d->ofm.c; c++) {
                int64_t n = 1;
                int64_t v;

                if (mode == (uint32_t)ETHOSU_REDUCE_SUM) {
                    v = ethosu_reduced(d, y, x);
                } else {
                    v = ethosu_pooled(d, y, x, c, mode, &n);
                }
                if (mode != (uint32_t)ETHOSU_MAX && d->per_channel == 0) {
                    v = ethosu_scale(v, d->wide[0x24], d->high[0x24], d->rounding);
                } else if (mode == (uint32_t)ETHOSU_AVERAGE && n > 0) {
                    v = (v + (v < 0 ? -(n / 2) : n / 2)) / n;
                } else {
                    /* as it is */
                }
                ethosu_store(d, y, x, c, ethosu_finish(d, v));
            }
        }
    }
}
