/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_do_float: the operations of bfloat16, and conversions between number formats. */
#include "mla_command.h"
#include "mla_kernels.h"
#include "nncc_s8.h"

void mla_do_conv2d_bf16(mla_command *c)
{
    mla_conv2d_bf16_params p;
    int32_t *const sizes[] = MLA_WINDOW_SIZES(p, &p.out_c);
    const uint16_t *x;
    const uint16_t *w;
    const float *b;
    uint16_t *y;
    uint64_t taps;
    uint64_t out;

    p.act_min = mla_f64(c);
    p.act_max = mla_f64(c);
    mla_dims(c, sizes, MLA_COUNT(sizes));
    p.pad_top = mla_in(c, -MLA_MAX_DIM, MLA_MAX_DIM);
    p.pad_left = mla_in(c, -MLA_MAX_DIM, MLA_MAX_DIM);
    p.spread_h = mla_dim(c);
    p.spread_w = mla_dim(c);
    p.transposed = mla_in(c, 0, 1);
    p.groups = mla_dim(c);
    if (p.in_c % p.groups != 0 || p.out_c % p.groups != 0) {
        mla_want(c, 0);
        return;
    }
    mla_window_ok(c, p.out_h, p.stride_h, p.pad_top, p.kernel_h, p.dilation_h);
    mla_window_ok(c, p.out_w, p.stride_w, p.pad_left, p.kernel_w, p.dilation_w);
    mla_want(c, (int64_t)p.in_h * p.spread_h <= MLA_MAX_REACH && (int64_t)p.in_w * p.spread_w <= MLA_MAX_REACH);
    taps = mla_product3(p.kernel_h, p.kernel_w, p.in_c / p.groups);
    out = mla_product4(p.batch, p.out_h, p.out_w, p.out_c);
    x = (const uint16_t *)mla_read(c, 0, mla_product4(p.batch, p.in_h, p.in_w, p.in_c), 2);
    w = (const uint16_t *)mla_read(c, 1, mla_product((uint64_t)p.out_c, taps), 2);
    b = mla_has(c, 2) != 0 ? (const float *)mla_read(c, 2, (uint64_t)p.out_c, 4) : NULL;
    y = (uint16_t *)mla_write(c, out, 2);
    c->cost = mla_product(out, taps + 1u);
    c->macs = mla_product(out, taps);
    if (p.transposed != 0) {
        c->macs = mla_product(mla_product4(p.batch, p.in_h, p.in_w, p.in_c),
                              mla_product3(p.out_c / p.groups, p.kernel_h, p.kernel_w));
    }
    if (mla_ready(c) != 0) {
        mla_conv2d_bf16(&p, x, w, b, y);
    }
}

void mla_do_max_pool_bf16(mla_command *c)
{
    mla_pool2d_bf16_params p;
    int32_t *const sizes[] = {&p.batch,    &p.in_h,     &p.in_w,     &p.in_c,     &p.out_h,      &p.out_w,
                              &p.kernel_h, &p.kernel_w, &p.stride_h, &p.stride_w, &p.dilation_h, &p.dilation_w};
    const uint16_t *x;
    uint16_t *y;
    uint64_t out;
    uint64_t taps;

    p.act_min = mla_f64(c);
    p.act_max = mla_f64(c);
    mla_dims(c, sizes, MLA_COUNT(sizes));
    p.pad_top = mla_in(c, 0, MLA_MAX_DIM);
    p.pad_left = mla_in(c, 0, MLA_MAX_DIM);
    mla_window_ok(c, p.out_h, p.stride_h, p.pad_top, p.kernel_h, p.dilation_h);
    mla_window_ok(c, p.out_w, p.stride_w, p.pad_left, p.kernel_w, p.dilation_w);
    taps = mla_product((uint64_t)p.kernel_h, (uint64_t)p.kernel_w);
    out = mla_product4(p.batch, p.out_h, p.out_w, p.in_c);
    x = (const uint16_t *)mla_read(c, 0, mla_product4(p.batch, p.in_h, p.in_w, p.in_c), 2);
    y = (uint16_t *)mla_write(c, out, 2);
    c->cost = mla_product(out, taps + 1u);
    c->macs = mla_product(out, taps);
    if (mla_ready(c) != 0) {
        mla_max_pool2d_bf16(&p, x, y);
    }
}

/* A count of elements of operand 0 and of the result, of given sizes. */
static nncc_count_params mla_count(mla_command *c, uint32_t in, uint32_t out, const void **x, void **y)
{
    nncc_count_params p;

    p.count = mla_in(c, 1, MLA_MAX_BYTES);
    *x = mla_read(c, 0, (uint64_t)p.count, in);
    *y = mla_write(c, (uint64_t)p.count, out);
    c->cost = (uint64_t)p.count;
    return p;
}

void mla_do_table_bf16(mla_command *c)
{
    const void *x;
    void *y;
    const nncc_count_params p = mla_count(c, 2, 2, &x, &y);
    const uint16_t *table = (const uint16_t *)mla_read(c, 1, 65536, 2);

    if (mla_ready(c) != 0) {
        mla_table_bf16(&p, (const uint16_t *)x, table, (uint16_t *)y);
    }
}

void mla_do_to_bf16(mla_command *c)
{
    const void *x;
    void *y;
    const nncc_count_params p = mla_count(c, 4, 2, &x, &y);

    if (mla_ready(c) != 0) {
        mla_f32_to_bf16(&p, (const float *)x, (uint16_t *)y);
    }
}

void mla_do_from_bf16(mla_command *c)
{
    const void *x;
    void *y;
    const nncc_count_params p = mla_count(c, 2, 4, &x, &y);

    if (mla_ready(c) != 0) {
        mla_bf16_to_f32(&p, (const uint16_t *)x, (float *)y);
    }
}

/* Shape, scales and zero points of conversions. */
typedef struct
{
    nncc_quantize_params shape;
    const void *x;
    const float *scale;
    const int32_t *zero;
    void *y;
} mla_border;

static void mla_read_border(mla_command *c, uint32_t in, uint32_t out, mla_border *b)
{
    b->shape.outer = mla_dim(c);
    b->shape.axis = mla_dim(c);
    b->shape.inner = mla_dim(c);
    c->cost = mla_product3(b->shape.outer, b->shape.axis, b->shape.inner);
    b->x = mla_read(c, 0, c->cost, in);
    b->scale = (const float *)mla_read(c, 1, (uint64_t)b->shape.axis, 4);
    b->zero = mla_words(c, 2, (uint64_t)b->shape.axis, -128, 127);
    b->y = mla_write(c, c->cost, out);
}

void mla_do_quantize(mla_command *c)
{
    mla_border b;

    mla_read_border(c, 4, 1, &b);
    if (mla_ready(c) != 0) {
        nncc_quantize_f32_s8(&b.shape, (const float *)b.x, b.scale, b.zero, (int8_t *)b.y);
    }
}

void mla_do_dequantize(mla_command *c)
{
    mla_border b;

    mla_read_border(c, 1, 4, &b);
    if (mla_ready(c) != 0) {
        nncc_dequantize_s8_f32(&b.shape, (const int8_t *)b.x, b.scale, b.zero, (float *)b.y);
    }
}
