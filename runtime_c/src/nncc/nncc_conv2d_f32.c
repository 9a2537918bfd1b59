/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_dot_f32.h"
#include "nncc_f32.h"
#include "nncc_window.h"

/* One output pixel of one group: outputs y[0..out_c/groups). */
static void nncc_conv2d_pixel(const nncc_conv2d_params *p, const float *x, const float *w, const float *b, float *y,
                              int32_t y0, int32_t x0)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;
    const int32_t filter = p->kernel_h * p->kernel_w * cin;
    int32_t ky0;
    int32_t ky1;
    int32_t kx0;
    int32_t kx1;
    int32_t runs;
    int32_t run;

    nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h, &ky0, &ky1);
    nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w, &kx0, &kx1);
    /* Without dilation and groups a kernel row is one run of memory in the input and in the weights. */
    if (p->dilation_w == 1 && p->groups == 1) {
        runs = kx1 > kx0 ? 1 : 0;
        run = (kx1 - kx0) * cin;
    } else {
        runs = kx1 - kx0;
        run = cin;
    }

    for (int32_t oc = 0; oc < cout;) {
        const int32_t lanes = cout - oc >= 4 ? 4 : 1;
        float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};

        for (int32_t ky = ky0; ky < ky1; ky++) {
            int32_t xi = ((y0 + ky * p->dilation_h) * p->in_w + x0 + kx0 * p->dilation_w) * p->in_c;
            int32_t wi = oc * filter + (ky * p->kernel_w + kx0) * cin;

            for (int32_t r = 0; r < runs; r++) {
                nncc_dot_f32(x + xi, w + wi, filter, run, lanes, acc);
                xi += p->dilation_w * p->in_c;
                wi += cin;
            }
        }
        for (int32_t j = 0; j < lanes; j++, oc++) {
            const float v = b != NULL ? acc[j] + b[oc] : acc[j];
            y[oc] = nncc_clamp_f32(v, p->act_min, p->act_max);
        }
    }
}

void nncc_conv2d_f32(const nncc_conv2d_params *p, const float *x, const float *w, const float *b, float *y)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;
    const int32_t filters = cout * p->kernel_h * p->kernel_w * cin;

    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                for (int32_t g = 0; g < p->groups; g++) {
                    nncc_conv2d_pixel(p, x + g * cin, w + g * filters, b != NULL ? b + g * cout : NULL, y,
                                      oy * p->stride_h - p->pad_top, ox * p->stride_w - p->pad_left);
                    y += cout;
                }
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
