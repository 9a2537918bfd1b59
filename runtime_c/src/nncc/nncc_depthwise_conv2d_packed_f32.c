/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_f32_channels.h"
#include "nncc_f32_spans.h"

/* How the taps of two spans lie. */
static void nncc_f32_depthwise_taps(const nncc_depthwise_conv2d_packed_params *p, const nncc_f32_span *rows,
                                    const nncc_f32_span *columns, nncc_f32_job *t)
{
    const int32_t size = (int32_t)sizeof(float);
    const int32_t wide = columns->last - columns->first;

    nncc_f32_job_empty(t);
    if (rows->last == 0 || columns->last == 0) {
        return;
    }
    t->first = rows->first * p->kernel_w + columns->first;
    t->steps = wide;
    t->rows = rows->last - rows->first;
    t->across = size * p->dilation_w * p->in_c;
    t->x_skip = size * (p->dilation_h * p->in_w - p->dilation_w * wide) * p->in_c;
    t->w_skip = size * NNCC_F32_WIDE * (p->kernel_w - wide);
}

/* The pixels of two spans. */
static void nncc_f32_depthwise_spans(const nncc_depthwise_conv2d_packed_params *p, const nncc_f32_span *rows,
                                     const nncc_f32_span *columns, const nncc_f32_job *t, const float *x,
                                     const float *packed, float *y)
{
    const int32_t lanes = p->in_c < NNCC_F32_WIDE ? NNCC_F32_NARROW : NNCC_F32_WIDE;
    const int32_t record = lanes * (1 + p->kernel_h * p->kernel_w);
    const float *pixel[NNCC_F32_PIXELS];
    float *result[NNCC_F32_PIXELS];
    nncc_f32_walk k;

    k.x = x + ((rows->from * p->stride_h - p->pad_top + rows->first * p->dilation_h) * p->in_w +
               columns->from * p->stride_w - p->pad_left + columns->first * p->dilation_w) *
                  p->in_c;
    k.y = y + rows->from * p->out_row + columns->from * p->out_pitch;
    k.left = rows->count * columns->count;
    k.column = 0;
    k.columns = columns->count;
    k.x_step = p->stride_w * p->in_c;
    k.y_step = p->out_pitch;
    k.x_row = (p->stride_h * p->in_w - (columns->count - 1) * p->stride_w) * p->in_c;
    k.y_row = p->out_row - (columns->count - 1) * p->out_pitch;
    while (k.left > 0) {
        const int32_t pixels = nncc_f32_take(&k, pixel, result);
        const float *w = packed;

        for (int32_t next = 0; next < p->in_c; next += lanes) {
            const int32_t c = p->in_c - next >= lanes || p->in_c < lanes ? next : p->in_c - lanes;

            if (lanes == NNCC_F32_WIDE) {
                nncc_f32_channels_wide(t, pixels, w, pixel, result, c);
            } else {
                for (int32_t i = 0; i < pixels; i++) {
                    nncc_f32_channels_narrow(t, p->in_c < lanes ? p->in_c : lanes, w, pixel[i] + c, result[i] + c);
                }
            }
            w += record;
        }
    }
}

void nncc_depthwise_conv2d_packed_f32(const nncc_depthwise_conv2d_packed_params *p, const float *x, const float *packed,
                                      float *y)
{
    const nncc_f32_axis high = {p->in_h, p->out_h, p->kernel_h, p->stride_h, p->dilation_h, p->pad_top};
    const nncc_f32_axis wide = {p->in_w, p->out_w, p->kernel_w, p->stride_w, p->dilation_w, p->pad_left};
    nncc_f32_job t;

    t.lo = p->act_min;
    t.hi = p->act_max;
    t.limits = nncc_f32_limits(t.lo, t.hi);
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h;) {
            const nncc_f32_span rows = nncc_f32_span_at(&high, oy);

            for (int32_t ox = 0; ox < p->out_w;) {
                const nncc_f32_span columns = nncc_f32_span_at(&wide, ox);

                nncc_f32_depthwise_taps(p, &rows, &columns, &t);
                nncc_f32_depthwise_spans(p, &rows, &columns, &t, x, packed, y);
                ox += columns.count;
            }
            oy += rows.count;
        }
        x += p->in_h * p->in_w * p->in_c;
        y += p->out_image;
    }
}
