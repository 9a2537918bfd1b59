/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_f32.h"
#include "nncc_window.h"

/* One output pixel: y[0..in_c). Powers 1 and 2 avoid powf. */
static void nncc_lp_pixel(const nncc_lp_pool2d_params *lp, const float *x, float *y, int32_t y0, int32_t x0)
{
    const nncc_pool2d_params *p = &lp->pool;
    const float power = (float)lp->power;
    int32_t ky0;
    int32_t ky1;
    int32_t kx0;
    int32_t kx1;

    nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h, &ky0, &ky1);
    nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w, &kx0, &kx1);
    for (int32_t c = 0; c < p->in_c; c++) {
        float sum = 0.0f;

        for (int32_t ky = ky0; ky < ky1; ky++) {
            for (int32_t kx = kx0; kx < kx1; kx++) {
                const float v = fabsf(x[((y0 + ky * p->dilation_h) * p->in_w + x0 + kx * p->dilation_w) * p->in_c + c]);

                sum += lp->power == 1 ? v : (lp->power == 2 ? v * v : powf(v, power));
            }
        }
        y[c] = lp->power == 1 ? sum : (lp->power == 2 ? sqrtf(sum) : powf(sum, 1.0f / power));
    }
}

void nncc_lp_pool2d_f32(const nncc_lp_pool2d_params *p, const float *x, float *y)
{
    const nncc_pool2d_params *q = &p->pool;

    for (int32_t n = 0; n < q->batch; n++) {
        for (int32_t oy = 0; oy < q->out_h; oy++) {
            for (int32_t ox = 0; ox < q->out_w; ox++) {
                nncc_lp_pixel(p, x, y, oy * q->stride_h - q->pad_top, ox * q->stride_w - q->pad_left);
                y += q->in_c;
            }
        }
        x += q->in_h * q->in_w * q->in_c;
    }
}
