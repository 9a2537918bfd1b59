/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_dot_f32.h"
#include "nncc_f32.h"

/*
 * Input positions [*first, *last] along one axis that reach output position `pos` (padding added): those i with
 * 0 <= pos - i*stride <= (kernel-1)*dilation and 0 <= i < size. With dilation some of them hit no tap.
 */
static void nncc_sources(int32_t pos, int32_t stride, int32_t span, int32_t size, int32_t *first, int32_t *last)
{
    const int32_t lo = pos - span;

    *first = lo > 0 ? (lo + stride - 1) / stride : 0;
    *last = pos / stride < size ? pos / stride : size - 1;
}

/* One output pixel of one group; py and px are the output position plus the padding. */
static void nncc_transpose_pixel(const nncc_conv_transpose2d_params *p, const float *x, const float *w, const float *b,
                                 float *y, int32_t py, int32_t px)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;
    const int32_t filter = p->kernel_h * p->kernel_w * cin;
    int32_t iy0;
    int32_t iy1;
    int32_t ix0;
    int32_t ix1;

    nncc_sources(py, p->stride_h, (p->kernel_h - 1) * p->dilation_h, p->in_h, &iy0, &iy1);
    nncc_sources(px, p->stride_w, (p->kernel_w - 1) * p->dilation_w, p->in_w, &ix0, &ix1);

    for (int32_t oc = 0; oc < cout;) {
        const int32_t lanes = cout - oc >= 4 ? 4 : 1;
        float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};

        for (int32_t iy = iy0; iy <= iy1; iy++) {
            int32_t ky = py - iy * p->stride_h;

            if (p->dilation_h != 1) {
                if (ky % p->dilation_h != 0) {
                    continue;
                }
                ky /= p->dilation_h;
            }
            for (int32_t ix = ix0; ix <= ix1; ix++) {
                int32_t kx = px - ix * p->stride_w;

                if (p->dilation_w != 1) {
                    if (kx % p->dilation_w != 0) {
                        continue;
                    }
                    kx /= p->dilation_w;
                }
                nncc_dot_f32(x + (iy * p->in_w + ix) * p->in_c, w + oc * filter + (ky * p->kernel_w + kx) * cin, filter,
                             cin, lanes, acc);
            }
        }
        for (int32_t j = 0; j < lanes; j++, oc++) {
            const float v = b != NULL ? acc[j] + b[oc] : acc[j];
            y[oc] = nncc_clamp_f32(v, p->act_min, p->act_max);
        }
    }
}

void nncc_conv_transpose2d_f32(const nncc_conv_transpose2d_params *p, const float *x, const float *w, const float *b,
                               float *y)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;
    const int32_t filters = cout * p->kernel_h * p->kernel_w * cin;

    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                for (int32_t g = 0; g < p->groups; g++) {
                    nncc_transpose_pixel(p, x + g * cin, w + g * filters, b != NULL ? b + g * cout : NULL, y,
                                         oy + p->pad_top, ox + p->pad_left);
                    y += cout;
                }
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
