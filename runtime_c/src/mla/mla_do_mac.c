/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_do_mac: the multiply-accumulate operations. */
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

    q.bias = (const int32_t *)mla_read(c, MLA_BIAS, bias, 4);
    q.mult = (const int32_t *)mla_read(c, MLA_MULT, n, 4);
    q.shift = mla_words(c, MLA_SHIFT, n, -62, 31);
    return q;
}

/* The shape of a convolution of elements of size bytes, its input, weights and result; 0 where groups do not fit. */
static int32_t mla_convolution(mla_command *c, mla_conv2d_params *p, uint32_t size, const void **x, const void **w,
                               void **y)
{
    if (p->in_c % p->groups != 0 || p->out_c % p->groups != 0) {
        mla_want(c, 0);
        return 0;
    }
    MLA_WINDOW_OK(c, *p);
    mla_want(c, (int64_t)p->in_h * p->spread_h <= MLA_MAX_REACH && (int64_t)p->in_w * p->spread_w <= MLA_MAX_REACH);

    const uint64_t in = mla_product4(p->batch, p->in_h, p->in_w, p->in_c);
    const uint64_t out = mla_product4(p->batch, p->out_h, p->out_w, p->out_c);
    const uint64_t taps = mla_product3(p->kernel_h, p->kernel_w, p->in_c / p->groups);

    *x = mla_read(c, MLA_X, in, size);
    *w = mla_read(c, MLA_W, mla_product((uint64_t)p->out_c, taps), size);
    *y = mla_write(c, out, size);
    c->cost = mla_product(out, taps + 1u);
    c->macs = mla_product(out, taps);
    if (p->transposed != 0) {
        c->macs = mla_product(in, mla_product3(p->out_c / p->groups, p->kernel_h, p->kernel_w));
    }
    return 1;
}

void mla_do_conv2d(mla_command *c)
{
    mla_conv2d_params p;
    const void *x, *w;
    void *y;

    mla_params(c, "nnnnnnnnnnnnnqqnnfnozx", &p);
    if (mla_convolution(c, &p, 1, &x, &w, &y) != 0) {
        const mla_quant q = mla_channels(c, (uint64_t)p.out_c, (uint64_t)p.out_c);

        if (mla_ready(c) != 0) {
            mla_conv2d(&p, (const int8_t *)x, (const int8_t *)w, q.bias, q.mult, q.shift, (int8_t *)y);
        }
    }
}

void mla_do_conv2d_bf16(mla_command *c)
{
    mla_conv2d_bf16_params p;
    const void *x, *w;
    void *y;

    mla_params(c, "ddnnnnnnnnnnnnnqqnnfn", &p);
    if (mla_convolution(c, &p.conv, 2, &x, &w, &y) != 0) {
        const float *b = (const float *)mla_read(c, MLA_BIAS, (uint64_t)p.conv.out_c, 4);

        if (mla_ready(c) != 0) {
            mla_conv2d_bf16(&p, (const uint16_t *)x, (const uint16_t *)w, b, (uint16_t *)y);
        }
    }
}

void mla_do_depthwise(mla_command *c)
{
    mla_depthwise_params p;

    mla_params(c, "nnnnnnnnnnnnnqqozx", &p);
    MLA_WINDOW_OK(c, p);

    const uint64_t channels = mla_product((uint64_t)p.in_c, (uint64_t)p.mult_c);
    const uint64_t taps = mla_product((uint64_t)p.kernel_h, (uint64_t)p.kernel_w);
    const uint64_t out = mla_product(mla_product3(p.batch, p.out_h, p.out_w), channels);
    const int8_t *x = (const int8_t *)mla_read(c, MLA_X, mla_product4(p.batch, p.in_h, p.in_w, p.in_c), 1);
    const int8_t *w = (const int8_t *)mla_read(c, MLA_W, mla_product(channels, taps), 1);
    const mla_quant q = mla_channels(c, channels, channels);
    int8_t *y = (int8_t *)mla_write(c, out, 1);

    c->cost = mla_product(out, taps + 1u);
    c->macs = mla_product(out, taps);
    if (mla_ready(c) != 0) {
        mla_depthwise(&p, x, w, q.bias, q.mult, q.shift, y);
    }
}

void mla_do_matmul(mla_command *c)
{
    mla_matmul_params p;

    mla_params(c, "nnnnnttttttttttttfoozx", &p);

    int32_t da[] = {p.batch0, p.batch1, p.m, p.k}, db[] = {p.batch0, p.batch1, p.k, p.n};
    int32_t dy[] = {p.batch0, p.batch1, p.m, p.n};
    const mla_space sa = mla_sizes(c, 4, da), sb = mla_sizes(c, 4, db), sy = mla_sizes(c, 4, dy);
    const int8_t *a = (const int8_t *)mla_read_steps(c, MLA_X, &sa, p.a_step, 0, 1);
    const int8_t *b = (const int8_t *)mla_read_steps(c, MLA_W, &sb, p.b_step, 0, 1);
    const mla_quant q = mla_channels(c, (uint64_t)p.n, p.per_column != 0 ? (uint64_t)p.n : 1u);
    int8_t *y = (int8_t *)mla_write_steps(c, &sy, p.y_step, 0, 1);

    c->cost = mla_product(sy.count, (uint64_t)p.k + 1u);
    c->macs = mla_product(sy.count, (uint64_t)p.k);
    if (mla_ready(c) != 0) {
        mla_matmul(&p, a, b, q.bias, q.mult, q.shift, y);
    }
}
