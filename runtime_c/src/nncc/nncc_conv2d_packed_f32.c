/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_f32_dense.h"
#include "nncc_f32_spans.h"

/* How the taps of two spans lie. */
static void nncc_f32_conv_taps(const nncc_conv2d_packed_params *p, const nncc_f32_span *rows,
                               const nncc_f32_span *columns, nncc_f32_job *t)
{
    const int32_t size = (int32_t)sizeof(float);
    const int32_t cin = p->in_c / p->groups;
    const int32_t high = rows->last - rows->first;
    const int32_t wide = columns->last - columns->first;
    const int32_t whole = p->dilation_w == 1 && p->groups == 1; /* a kernel row is one run of memory */
    const int32_t n = (whole != 0 ? wide : 1) * cin;
    const int32_t record = NNCC_F32_WIDE * size;

    if (high == 0 || wide == 0) {
        nncc_f32_job_empty(t);
        return;
    }
    t->first = (rows->first * p->kernel_w + columns->first) * cin;
    t->across = 0;
    t->steps = n / 2;
    t->odd = n % 2;
    t->rows = whole != 0 ? high : wide;
    t->planes = whole != 0 ? 1 : high;
    t->x_skip = size * (whole != 0 ? p->dilation_h * p->in_w * p->in_c - n : p->dilation_w * p->in_c - n);
    t->w_skip = record * (whole != 0 ? p->kernel_w * cin - n : 0);
    t->x_plane = size * (p->dilation_h * p->in_w - p->dilation_w * wide) * p->in_c;
    t->w_plane = record * (p->kernel_w - wide) * cin;
}

/* The pixels of two spans of one group. */
static void nncc_f32_conv_spans(const nncc_conv2d_packed_params *p, const nncc_f32_span *rows,
                                const nncc_f32_span *columns, nncc_f32_job *t, const float *x, const float *packed,
                                float *y)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;
    const int32_t inputs = 1 + p->kernel_h * p->kernel_w * cin;
    const int32_t records = cout / NNCC_F32_WIDE;
    const int32_t whole = records * NNCC_F32_WIDE;
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
    if (rows->count == 1 || (k.x_row == k.x_step && k.y_row == k.y_step)) { /* all pixels follow each other */
        k.columns = k.left;
        k.x_row = k.x_step;
        k.y_row = k.y_step;
    }
#if NNCC_F32_MVE_ASM
    if (t->planes == 1 && t->rows == 1 && t->first == 0 && 2 * t->steps + t->odd == inputs - 1 &&
        k.columns >= NNCC_F32_DENSE_PIXELS) {
        const int32_t one = k.columns == k.left && k.left % NNCC_F32_PIXELS == 1 ? 1 : 0; /* goes below */

        while (k.left > one) {
            const int32_t pixels = k.columns - one;

            nncc_f32_dense_pixels(t, cout, inputs, packed, k.x, k.x_step, k.y, k.y_step, pixels);
            k.x += (pixels - 1) * k.x_step + k.x_row;
            k.y += (pixels - 1) * k.y_step + k.y_row;
            k.left -= pixels;
        }
    }
#endif
    while (k.left > 0) {
        const int32_t pixels = nncc_f32_take(&k, pixel, result);

        nncc_f32_wide(t, pixels, records, inputs, packed, pixel, result);
        nncc_f32_rest(t, pixels, cout - whole, inputs, packed + whole * inputs, pixel, result, whole);
    }
}

void nncc_conv2d_packed_f32(const nncc_conv2d_packed_params *p, const float *x, const float *packed, float *y)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;
    const int32_t padded = (cout + NNCC_F32_NARROW - 1) / NNCC_F32_NARROW * NNCC_F32_NARROW;
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

                nncc_f32_conv_taps(p, &rows, &columns, &t);
                nncc_f32_job_records(&t, 1 + p->kernel_h * p->kernel_w * cin);
                for (int32_t g = 0; g < p->groups; g++) {
                    nncc_f32_conv_spans(p, &rows, &columns, &t, x + g * cin,
                                        packed + g * padded * (1 + p->kernel_h * p->kernel_w * cin), y + g * cout);
                }
                ox += columns.count;
            }
            oy += rows.count;
        }
        x += p->in_h * p->in_w * p->in_c;
        y += p->out_image;
    }
}
