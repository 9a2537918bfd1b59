/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_f32.h"
#include "nncc_f32_rows.h"
#include "nncc_window.h"

/* One output pixel: y[0..in_c). */
static void nncc_max_pixel(const nncc_pool2d_params *p, const float *x, float *y, int32_t y0, int32_t x0)
{
    int32_t ky0;
    int32_t ky1;
    int32_t kx0;
    int32_t kx1;

    nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h, &ky0, &ky1);
    nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w, &kx0, &kx1);
    nncc_f32_set_rows(-NNCC_F32_INF, y, p->in_c);
    for (int32_t ky = ky0; ky < ky1; ky++) {
        for (int32_t kx = kx0; kx < kx1; kx++) {
            nncc_f32_max_rows(x + ((y0 + ky * p->dilation_h) * p->in_w + x0 + kx * p->dilation_w) * p->in_c, y,
                              p->in_c);
        }
    }
}

void nncc_max_pool2d_f32(const nncc_pool2d_params *p, const float *x, float *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                nncc_max_pixel(p, x, y, oy * p->stride_h - p->pad_top, ox * p->stride_w - p->pad_left);
                y += p->in_c;
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
