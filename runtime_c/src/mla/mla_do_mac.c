/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_do_mac: the multiply-accumulate operations, and the element-wise ones of mla_kernels.h. */
#include "mla_command.h"
#include "mla_kernels.h"

/* Operands of the multiply-accumulate operations. */
enum
{
    MLA_X = 0,
    MLA_W = 1,
    MLA_BIAS = 2,
    MLA_MULT = 3,
    MLA_SHIFT = 4
};

/* Bias, multipliers and shifts of a convolution or product. */
typedef struct
{
    const int32_t *bias, *mult, *shift;
} mla_quant;

static mla_quant mla_channels(mla_command *c, uint64_t bias, uint64_t n)
{
    mla_quant q;

    q.bias = mla_has(c, MLA_BIAS) != 0 ? (const int32_t *)mla_read(c, MLA_BIAS, bias, 4) : NULL;
    q.mult = (const int32_t *)mla_read(c, MLA_MULT, n, 4);
    q.shift = mla_words(c, MLA_SHIFT, n, -62, 31);
    return q;
}

void mla_do_conv2d(mla_command *c)
{
    mla_conv2d_params p;
    int32_t *const sizes[] = MLA_WINDOW_SIZES(p, &p.out_c);
    const int8_t *x;
    const int8_t *w;
    int8_t *y;
    mla_quant q;
    uint64_t taps;
    uint64_t out;

    mla_dims(c, sizes, MLA_COUNT(sizes));
    p.pad_top = mla_in(c, -MLA_MAX_DIM, MLA_MAX_DIM);
    p.pad_left = mla_in(c, -MLA_MAX_DIM, MLA_MAX_DIM);
    p.spread_h = mla_dim(c);
    p.spread_w = mla_dim(c);
    p.transposed = mla_in(c, 0, 1);
    p.groups = mla_dim(c);
    p.in_offset = mla_offset(c);
    p.out_offset = mla_byte(c);
    mla_clamp(c, &p.act_min, &p.act_max);
    if (p.in_c % p.groups != 0 || p.out_c % p.groups != 0) {
        mla_want(c, 0);
        return;
    }
    mla_window_ok(c, p.out_h, p.stride_h, p.pad_top, p.kernel_h, p.dilation_h);
    mla_window_ok(c, p.out_w, p.stride_w, p.pad_left, p.kernel_w, p.dilation_w);
    mla_want(c, (int64_t)p.in_h * p.spread_h <= MLA_MAX_REACH && (int64_t)p.in_w * p.spread_w <= MLA_MAX_REACH);
    taps = mla_product3(p.kernel_h, p.kernel_w, p.in_c / p.groups);
    x = (const int8_t *)mla_read(c, MLA_X, mla_product4(p.batch, p.in_h, p.in_w, p.in_c), 1);
    w = (const int8_t *)mla_read(c, MLA_W, mla_product((uint64_t)p.out_c, taps), 1);
    q = mla_channels(c, (uint64_t)p.out_c, (uint64_t)p.out_c);
    out = mla_product4(p.batch, p.out_h, p.out_w, p.out_c);
    y = (int8_t *)mla_write(c, out, 1);
    c->cost = mla_product(out, taps + 1u);
    c->macs = mla_product(out, taps);
    if (p.transposed != 0) {
        c->macs = mla_product(mla_product4(p.batch, p.in_h, p.in_w, p.in_c),
                              mla_product3(p.out_c / p.groups, p.kernel_h, p.kernel_w));
    }
    if (mla_ready(c) != 0) {
        mla_conv2d(&p, x, w, q.bias, q.mult, q.shift, y);
    }
}

void mla_do_depthwise(mla_command *c)
{
    mla_depthwise_params p;
    int32_t *const sizes[] = MLA_WINDOW_SIZES(p, &p.mult_c);
    const int8_t *x;
    const int8_t *w;
    int8_t *y;
    mla_quant q;
    uint64_t channels;
    uint64_t taps;
    uint64_t out;

    mla_dims(c, sizes, MLA_COUNT(sizes));
    p.pad_top = mla_in(c, -MLA_MAX_DIM, MLA_MAX_DIM);
    p.pad_left = mla_in(c, -MLA_MAX_DIM, MLA_MAX_DIM);
    p.in_offset = mla_offset(c);
    p.out_offset = mla_byte(c);
    mla_clamp(c, &p.act_min, &p.act_max);
    mla_window_ok(c, p.out_h, p.stride_h, p.pad_top, p.kernel_h, p.dilation_h);
    mla_window_ok(c, p.out_w, p.stride_w, p.pad_left, p.kernel_w, p.dilation_w);
    channels = mla_product((uint64_t)p.in_c, (uint64_t)p.mult_c);
    taps = mla_product((uint64_t)p.kernel_h, (uint64_t)p.kernel_w);
    x = (const int8_t *)mla_read(c, MLA_X, mla_product4(p.batch, p.in_h, p.in_w, p.in_c), 1);
    w = (const int8_t *)mla_read(c, MLA_W, mla_product(channels, taps), 1);
    q = mla_channels(c, channels, channels);
    out = mla_product(mla_product3(p.batch, p.out_h, p.out_w), channels);
    y = (int8_t *)mla_write(c, out, 1);
    c->cost = mla_product(out, taps + 1u);
    c->macs = mla_product(out, taps);
    if (mla_ready(c) != 0) {
        mla_depthwise(&p, x, w, q.bias, q.mult, q.shift, y);
    }
}

static void mla_steps4(mla_command *c, int32_t *step)
{
    for (int32_t i = 0; i < 4; i++) {
        step[i] = mla_in(c, 0, MLA_MAX_STEP);
    }
}

static mla_space mla_space4(int32_t a, int32_t b, int32_t m, int32_t n)
{
    mla_space s = {0};

    s.rank = 4;
    s.dims[0] = a;
    s.dims[1] = b;
    s.dims[2] = m;
    s.dims[3] = n;
    s.count = mla_product4(a, b, m, n);
    return s;
}

void mla_do_matmul(mla_command *c)
{
    mla_matmul_params p;
    int32_t *const sizes[] = {&p.batch0, &p.batch1, &p.m, &p.k, &p.n};
    const int8_t *a;
    const int8_t *b;
    int8_t *y;
    mla_quant q;
    mla_space sa;
    mla_space sb;
    mla_space sy;

    mla_dims(c, sizes, MLA_COUNT(sizes));
    mla_steps4(c, p.a_step);
    mla_steps4(c, p.b_step);
    mla_steps4(c, p.y_step);
    p.per_column = mla_in(c, 0, 1);
    p.a_offset = mla_offset(c);
    p.b_offset = mla_offset(c);
    p.out_offset = mla_byte(c);
    mla_clamp(c, &p.act_min, &p.act_max);
    sa = mla_space4(p.batch0, p.batch1, p.m, p.k);
    sb = mla_space4(p.batch0, p.batch1, p.k, p.n);
    sy = mla_space4(p.batch0, p.batch1, p.m, p.n);
    a = (const int8_t *)mla_read_steps(c, MLA_X, &sa, p.a_step, 0, 1);
    b = (const int8_t *)mla_read_steps(c, MLA_W, &sb, p.b_step, 0, 1);
    q = mla_channels(c, (uint64_t)p.n, p.per_column != 0 ? (uint64_t)p.n : 1u);
    y = (int8_t *)mla_write_steps(c, &sy, p.y_step, 0, 1);
    c->cost = mla_product(sy.count, (uint64_t)p.k + 1u);
    c->macs = mla_product(sy.count, (uint64_t)p.k);
    if (mla_ready(c) != 0) {
        mla_matmul(&p, a, b, q.bias, q.mult, q.shift, y);
    }
}
