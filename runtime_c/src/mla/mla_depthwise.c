/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "mla_kernels.h"
#include "nncc_requant.h"
#include "nncc_window.h"

/* The taps of one output pixel: around position (y0, x0). */
typedef struct
{
    int32_t y0, x0;
    nncc_taps rows, cols;
} mla_window;

/* acc[i] += the taps of output channels c+i, i < 4, which have input channels of their own. */
static void mla_channels4(const mla_depthwise_params *p, const mla_window *t, const int8_t *x, const int8_t *w,
                          uint32_t acc[4])
{
    uint32_t a0 = acc[0];
    uint32_t a1 = acc[1];
    uint32_t a2 = acc[2];
    uint32_t a3 = acc[3];

    for (int32_t ky = t->rows.first; ky < t->rows.last; ky++) {
        for (int32_t kx = t->cols.first; kx < t->cols.last; kx++) {
            const int8_t *v = x + ((t->y0 + ky * p->dilation_h) * p->in_w + t->x0 + kx * p->dilation_w) * p->in_c;
            const int8_t *k = w + (ky * p->kernel_w + kx) * p->in_c;

            a0 += (uint32_t)((v[0] + p->in_offset) * k[0]);
            a1 += (uint32_t)((v[1] + p->in_offset) * k[1]);
            a2 += (uint32_t)((v[2] + p->in_offset) * k[2]);
            a3 += (uint32_t)((v[3] + p->in_offset) * k[3]);
        }
    }
    acc[0] = a0;
    acc[1] = a1;
    acc[2] = a2;
    acc[3] = a3;
}

/* The taps of output channel c, which reads input channel ic. */
static uint32_t mla_channel(const mla_depthwise_params *p, const mla_window *t, const int8_t *x, const int8_t *w,
                            int32_t ic, int32_t c)
{
    const int32_t out_c = p->in_c * p->mult_c;
    uint32_t acc = 0;

    for (int32_t ky = t->rows.first; ky < t->rows.last; ky++) {
        for (int32_t kx = t->cols.first; kx < t->cols.last; kx++) {
            const int32_t v = x[((t->y0 + ky * p->dilation_h) * p->in_w + t->x0 + kx * p->dilation_w) * p->in_c + ic];

            acc += (uint32_t)((v + p->in_offset) * w[(ky * p->kernel_w + kx) * out_c + c]);
        }
    }
    return acc;
}

/* One output pixel. */
static void mla_depthwise_pixel(const mla_depthwise_params *p, const mla_window *t, const int8_t *x, const int8_t *w,
                                const int32_t *b, const int32_t *mult, const int32_t *shift, int8_t *y)
{
    const int32_t out_c = p->in_c * p->mult_c;
    int32_t c = 0;

    while (c < out_c) {
        uint32_t acc[4] = {0};
        int32_t n = 1;

        if (p->mult_c == 1 && out_c - c >= 4) {
            n = 4;
        }
        for (int32_t i = 0; i < n; i++) {
            acc[i] = b != NULL ? (uint32_t)b[c + i] : 0u;
        }
        if (n == 4) {
            mla_channels4(p, t, x + c, w + c, acc);
        } else {
            acc[0] += mla_channel(p, t, x, w, c / p->mult_c, c);
        }
        for (int32_t i = 0; i < n; i++) {
            y[c + i] = nncc_rq_s8(acc[i], mult[c + i], shift[c + i], p->out_offset, p->act_min, p->act_max);
        }
        c += n;
    }
}

void mla_depthwise(const mla_depthwise_params *p, const int8_t *x, const int8_t *w, const int32_t *b,
                   const int32_t *mult, const int32_t *shift, int8_t *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            mla_window t;

            t.y0 = oy * p->stride_h - p->pad_top;
            t.rows = nncc_window(t.y0, p->dilation_h, p->kernel_h, p->in_h);
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                t.x0 = ox * p->stride_w - p->pad_left;
                t.cols = nncc_window(t.x0, p->dilation_w, p->kernel_w, p->in_w);
                mla_depthwise_pixel(p, &t, x, w, b, mult, shift, y);
                y += p->in_c * p->mult_c;
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
