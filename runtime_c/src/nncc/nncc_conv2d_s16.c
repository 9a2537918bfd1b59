/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_s16.h"
#include "nncc_window.h"

/* The sum for one output channel; x and w at its group and filter. */
static int64_t nncc_conv_sum_s16(const nncc_conv2d_wzp_s8_params *p, const int16_t *x, const int8_t *w, int32_t y0,
                                 int32_t x0)
{
    const int32_t cin = p->in_c / p->groups;
    int64_t sum = 0;

    const nncc_taps rows = nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h);
    const nncc_taps cols = nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w);
    for (int32_t ky = rows.first; ky < rows.last; ky++) {
        for (int32_t kx = cols.first; kx < cols.last; kx++) {
            const int16_t *v = x + ((y0 + ky * p->dilation_h) * p->in_w + x0 + kx * p->dilation_w) * p->in_c;
            const int8_t *k = w + (ky * p->kernel_w + kx) * cin;

            for (int32_t i = 0; i < cin; i++) {
                sum += v[i] * k[i];
            }
        }
    }
    return sum;
}

/* The Q31 multiplier rounded to Q15, then one rounding of the product. */
static int16_t nncc_conv_out_s16(int64_t acc, int32_t mult, int32_t shift, int32_t lo, int32_t hi)
{
    const int32_t m = mult < 0x7FFF0000 ? (mult + (1 << 15)) >> 16 : 0x7FFF;
    const int64_t v = (((acc * m) >> (14 - shift)) + 1) >> 1;

    return (int16_t)(v < lo ? lo : (v > hi ? hi : v));
}

void nncc_conv2d_s16(const nncc_conv2d_wzp_s8_params *p, const int16_t *x, const int8_t *w, const int64_t *b,
                     const int32_t *mult, const int32_t *shift, int16_t *y)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;
    const int32_t taps = p->kernel_h * p->kernel_w;

    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                for (int32_t c = 0; c < p->out_c; c++) {
                    const int64_t sum =
                        nncc_conv_sum_s16(p, x + c / cout * cin, w + c * taps * cin, oy * p->stride_h - p->pad_top,
                                          ox * p->stride_w - p->pad_left);

                    *y++ = nncc_conv_out_s16(sum + (b != NULL ? b[c] : 0), mult[c], shift[c], p->act_min, p->act_max);
                }
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
