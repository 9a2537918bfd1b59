/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "mla_dot4.h"
#include "mla_kernels.h"
#include "nncc_requant.h"
#include "nncc_window.h"

/* Where the taps of one output pixel lie. */
typedef struct
{
    int32_t y0, x0;       /* spread position of tap (0, 0) */
    nncc_taps rows, cols; /* taps that may lie inside */
} mla_place;

/* acc[j] += the taps of the rows of weights w[j]; x begins at the first input channel of their group. */
static void mla_row4(const mla_conv2d_params *p, const mla_place *t, const int8_t *x, int32_t cin,
                     const int8_t *const w[4], uint32_t acc[4])
{
    /* Rows of taps are one run of bytes unless dilation, groups or spread part them. */
    const int32_t whole = p->dilation_w == 1 && p->groups == 1 && p->spread_w == 1;

    for (int32_t ky = t->rows.first; ky < t->rows.last; ky++) {
        const int32_t py = t->y0 + ky * p->dilation_h;
        const int8_t *row = x + py / p->spread_h * p->in_w * p->in_c;

        if (py % p->spread_h != 0 || t->cols.last <= t->cols.first) {
            continue;
        }
        if (whole) {
            mla_dot4(row + (t->x0 + t->cols.first) * p->in_c, (t->cols.last - t->cols.first) * cin, p->in_offset, w,
                     (ky * p->kernel_w + t->cols.first) * cin, acc);
            continue;
        }
        for (int32_t kx = t->cols.first; kx < t->cols.last; kx++) {
            const int32_t px = t->x0 + kx * p->dilation_w;

            if (px % p->spread_w == 0) {
                mla_dot4(row + px / p->spread_w * p->in_c, cin, p->in_offset, w, (ky * p->kernel_w + kx) * cin, acc);
            }
        }
    }
}

/* One output pixel. */
static void mla_pixel(const mla_conv2d_params *p, const mla_place *t, const int8_t *x, const int8_t *w,
                      const int32_t *b, const int32_t *mult, const int32_t *shift, int8_t *y)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;
    const int32_t size = p->kernel_h * p->kernel_w * cin;

    for (int32_t c = 0; c < p->out_c;) {
        const int32_t group = c / cout;
        const int32_t left = (group + 1) * cout - c;
        const int32_t n = left < 4 ? left : 4;
        const int8_t *rows[4];
        uint32_t acc[4];

        for (int32_t i = 0; i < 4; i++) {
            const int32_t k = i < n ? c + i : c; /* rows beyond the group repeat the first, their sums are dropped */

            rows[i] = w + k * size;
            acc[i] = b != NULL ? (uint32_t)b[k] : 0u;
        }
        mla_row4(p, t, x + group * cin, cin, rows, acc);
        for (int32_t i = 0; i < n; i++) {
            y[c + i] = nncc_rq_s8(acc[i], mult[c + i], shift[c + i], p->out_offset, p->act_min, p->act_max);
        }
        c += n;
    }
}

void mla_conv2d(const mla_conv2d_params *p, const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *mult,
                const int32_t *shift, int8_t *y)
{
    const int32_t span_h = (p->in_h - 1) * p->spread_h + 1;
    const int32_t span_w = (p->in_w - 1) * p->spread_w + 1;

    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            mla_place t;

            t.y0 = oy * p->stride_h - p->pad_top;
            t.rows = nncc_window(t.y0, p->dilation_h, p->kernel_h, span_h);
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                t.x0 = ox * p->stride_w - p->pad_left;
                t.cols = nncc_window(t.x0, p->dilation_w, p->kernel_w, span_w);
                mla_pixel(p, &t, x, w, b, mult, shift, y);
                y += p->out_c;
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
