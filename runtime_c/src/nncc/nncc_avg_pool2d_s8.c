#include "nncc_fp.h"

#include "nncc_columns.h"
#include "nncc_mean.h"
#include "nncc_pool_count.h"
#include "nncc_s8.h"

/* The mean of a window in which `count` taps count. */
static int8_t nncc_avg_s8_mean(const nncc_pool2d_s8_params *p, int32_t acc, int32_t count)
{
    if (p->mult != 0 && count == p->kernel_h * p->kernel_w) {
        return nncc_mean_mult_s8(acc, p->mult, p->bias, p->shift, p->act_min, p->act_max);
    }
    if (p->rescale != 0) {
        return nncc_mean_scaled_s8(acc, p->in_scale, count, p->out_scale, p->out_zero, p->act_min, p->act_max);
    }
    return nncc_mean_s8(acc, count, p->out_zero, p->act_min, p->act_max);
}

/* One output pixel: y[0..in_c). */
static void nncc_avg_s8_pixel(const nncc_pool2d_s8_params *p, const int8_t *x, int8_t *y, int32_t y0, int32_t x0)
{
    int32_t count =
        nncc_pool_count(y0, p->dilation_h, p->kernel_h, p->in_h, p->pad_top, p->pad_bottom, p->count_include_pad) *
        nncc_pool_count(x0, p->dilation_w, p->kernel_w, p->in_w, p->pad_left, p->pad_right, p->count_include_pad);
    int32_t ky0;
    int32_t ky1;
    int32_t kx0;
    int32_t kx1;

    if (count < 1) {
        count = 1;
    }
    nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h, &ky0, &ky1);
    nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w, &kx0, &kx1);
    for (int32_t c = 0; c < p->in_c; c += NNCC_COLUMNS) {
        const int32_t n = p->in_c - c < NNCC_COLUMNS ? p->in_c - c : NNCC_COLUMNS;
        const int32_t center = ky1 > ky0 && kx1 > kx0 ? (ky1 - ky0) * (kx1 - kx0) * p->center : 0;
        int32_t sum[NNCC_COLUMNS] = {0};

        for (int32_t ky = ky0; ky < ky1; ky++) {
            nncc_columns_add(x + ((y0 + ky * p->dilation_h) * p->in_w + x0 + kx0 * p->dilation_w) * p->in_c + c,
                             kx1 - kx0, p->dilation_w * p->in_c, n, sum);
        }
        for (int32_t k = 0; k < n; k++) {
            y[c + k] = nncc_avg_s8_mean(p, sum[k] - center, count);
        }
    }
}

void nncc_avg_pool2d_s8(const nncc_pool2d_s8_params *p, const int8_t *x, int8_t *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                nncc_avg_s8_pixel(p, x, y, oy * p->stride_h - p->pad_top, ox * p->stride_w - p->pad_left);
                y += p->in_c;
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
