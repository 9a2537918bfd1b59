/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_do_axis: pools, reductions, normalisations, softmax and resampling. */
#include "mla_command.h"
#include "nncc_s8.h"

typedef void mla_pool_fn(const nncc_pool2d_s8_params *p, const int8_t *x, int8_t *y);
typedef void mla_reduce_fn(const nncc_axis_s8_params *p, const int8_t *x, int8_t *y);
typedef void mla_arg_fn(const nncc_arg_s8_params *p, const int8_t *x, int64_t *y);

static void mla_pool(mla_command *c, mla_pool_fn *kernel)
{
    nncc_pool2d_s8_params p;
    int32_t *const sizes[] = {&p.batch,    &p.in_h,     &p.in_w,     &p.in_c,     &p.out_h,      &p.out_w,
                              &p.kernel_h, &p.kernel_w, &p.stride_h, &p.stride_w, &p.dilation_h, &p.dilation_w};
    const int8_t *x;
    int8_t *y;
    uint64_t out;
    uint64_t taps;

    p.mult = 0; /* no other form of the mean */
    p.in_scale = mla_f64(c);
    p.out_scale = mla_f64(c);
    mla_dims(c, sizes, MLA_COUNT(sizes));
    p.pad_top = mla_in(c, 0, MLA_MAX_DIM);
    p.pad_left = mla_in(c, 0, MLA_MAX_DIM);
    p.pad_bottom = mla_in(c, 0, MLA_MAX_DIM);
    p.pad_right = mla_in(c, 0, MLA_MAX_DIM);
    p.count_include_pad = mla_in(c, 0, 1);
    p.center = mla_byte(c);
    p.out_zero = mla_byte(c);
    p.rescale = mla_in(c, 0, 1);
    mla_clamp(c, &p.act_min, &p.act_max);
    mla_window_ok(c, p.out_h, p.stride_h, p.pad_top, p.kernel_h, p.dilation_h);
    mla_window_ok(c, p.out_w, p.stride_w, p.pad_left, p.kernel_w, p.dilation_w);
    taps = mla_product((uint64_t)p.kernel_h, (uint64_t)p.kernel_w);
    mla_want(c, taps <= MLA_MAX_AREA);
    x = (const int8_t *)mla_read(c, 0, mla_product4(p.batch, p.in_h, p.in_w, p.in_c), 1);
    out = mla_product4(p.batch, p.out_h, p.out_w, p.in_c);
    y = (int8_t *)mla_write(c, out, 1);
    c->cost = mla_product(out, taps + 1u);
    c->macs = mla_product(out, taps);
    if (mla_ready(c) != 0) {
        kernel(&p, x, y);
    }
}

void mla_do_avg_pool(mla_command *c)
{
    mla_pool(c, nncc_avg_pool2d_s8);
}

void mla_do_max_pool(mla_command *c)
{
    mla_pool(c, nncc_max_pool2d_s8);
}

void mla_do_softmax(mla_command *c)
{
    nncc_softmax_s8_params p;
    const int8_t *x;
    int8_t *y;
    uint64_t n;

    p.outer = mla_dim(c);
    p.axis = mla_dim(c);
    p.inner = mla_dim(c);
    p.mult = mla_in(c, 0, INT32_MAX);
    p.shift = mla_in(c, 0, 31);
    p.diff_min = mla_in(c, -((int32_t)1 << 30), 0);
    mla_want(c, p.axis <= 4095);
    mla_want(c, (int64_t)(p.diff_min < -255 ? 255 : -p.diff_min) << p.shift <= (int64_t)1 << 31);
    n = mla_product3(p.outer, p.axis, p.inner);
    x = (const int8_t *)mla_read(c, 0, n, 1);
    y = (int8_t *)mla_write(c, n, 1);
    c->cost = mla_product(n, 3);
    if (mla_ready(c) != 0) {
        nncc_softmax_s8(&p, x, y);
    }
}

/* The constants of a normalisation in fixed point. */
static void mla_norm(mla_command *c, nncc_norm_s8_params *p)
{
    p->eps = mla_in(c, 0, INT32_MAX);
    p->eps_shift = mla_in(c, 0, 31);
    p->up = mla_in(c, -62, 62);
    p->root = mla_in(c, -62, 124);
    p->shift = mla_in(c, 1, 24);
}

void mla_do_layer_norm(mla_command *c)
{
    nncc_layer_norm_s8_params p;
    const int8_t *x;
    const int32_t *terms;
    int8_t *y;
    uint64_t n;

    mla_norm(c, &p.norm);
    p.rows = mla_dim(c);
    p.len = mla_in(c, 1, MLA_MAX_AREA);
    p.center = mla_in(c, 0, 1);
    p.zero = mla_byte(c);
    n = mla_product((uint64_t)p.rows, (uint64_t)p.len);
    x = (const int8_t *)mla_read(c, 0, n, 1);
    terms = (const int32_t *)mla_read(c, 1, mla_product(((uint64_t)p.len + 3u) / 4u, 6), 4);
    y = (int8_t *)mla_write(c, n, 1);
    c->cost = mla_product(n, 2);
    if (mla_ready(c) != 0) {
        nncc_layer_norm_s8(&p, x, terms, y);
    }
}

void mla_do_group_norm(mla_command *c)
{
    nncc_group_norm_s8_params p;
    const int8_t *x;
    const int32_t *terms;
    int8_t *y;
    uint64_t n;

    mla_norm(c, &p.norm);
    p.batch = mla_dim(c);
    p.spatial = mla_dim(c);
    p.channels = mla_dim(c);
    p.groups = mla_dim(c);
    mla_want(c, p.channels % p.groups == 0);
    mla_want(c, mla_product((uint64_t)p.spatial, (uint64_t)p.channels) / (uint64_t)p.groups <= MLA_MAX_AREA);
    n = mla_product3(p.batch, p.spatial, p.channels);
    x = (const int8_t *)mla_read(c, 0, n, 1);
    terms = (const int32_t *)mla_read(c, 1, mla_product((uint64_t)p.channels, 2), 4);
    y = (int8_t *)mla_write(c, n, 1);
    c->cost = mla_product(n, 2);
    if (mla_ready(c) != 0) {
        nncc_group_norm_s8(&p, x, terms, y);
    }
}

/*
 * An axis of resampling, indices in operand i and weights behind it: every element outside (first index -1), or all its
 * indices inside. Gives the largest sum of weights of an element.
 */
static int64_t mla_samples(mla_command *c, uint32_t i, int32_t out, int32_t taps, int32_t in, const int32_t **index,
                           const int16_t **weight)
{
    const uint64_t n = mla_product((uint64_t)out, (uint64_t)taps);
    int64_t most = 0;

    *index = (const int32_t *)mla_read(c, i, n, 4);
    *weight = (const int16_t *)mla_read(c, i + 1u, n, 2);
    if (c->status != MLA_OK) {
        return 0;
    }
    for (int32_t o = 0; o < out; o++) {
        const int32_t *at = *index + o * taps;
        const int16_t *w = *weight + o * taps;
        int64_t sum = 0;

        for (int32_t t = 0; t < taps; t++) {
            if (at[0] < -1 || (at[0] >= 0 && (at[t] < 0 || at[t] >= in))) {
                mla_want(c, 0);
                return 0;
            }
            sum += w[t] < 0 ? -w[t] : w[t];
        }
        most = sum > most ? sum : most;
    }
    return most;
}

void mla_do_resize(mla_command *c)
{
    nncc_resize_s8_params p;
    const int8_t *x;
    const int32_t *index_h;
    const int16_t *weight_h;
    const int32_t *index_w;
    const int16_t *weight_w;
    int8_t *y;
    int64_t sum_h;
    int64_t sum_w;
    uint64_t sum;
    uint64_t out;

    p.in_scale = mla_f64(c);
    p.out_scale = mla_f64(c);
    p.batch = mla_dim(c);
    p.in_h = mla_dim(c);
    p.in_w = mla_dim(c);
    p.channels = mla_dim(c);
    p.out_h = mla_dim(c);
    p.out_w = mla_dim(c);
    p.taps_h = mla_dim(c);
    p.taps_w = mla_dim(c);
    p.den = mla_in(c, 1, MLA_MAX_REACH);
    p.in_zero = mla_byte(c);
    p.out_zero = mla_byte(c);
    p.rescale = mla_in(c, 0, 1);
    p.outside = mla_byte(c);
    x = (const int8_t *)mla_read(c, 0, mla_product4(p.batch, p.in_h, p.in_w, p.channels), 1);
    sum_h = mla_samples(c, 1, p.out_h, p.taps_h, p.in_h, &index_h, &weight_h);
    sum_w = mla_samples(c, 3, p.out_w, p.taps_w, p.in_w, &index_w, &weight_w);
    sum = mla_product(mla_product(255, (uint64_t)sum_h), (uint64_t)sum_w);
    mla_want(c, sum + (uint64_t)p.den / 2u < (uint64_t)1 << 31);
    out = mla_product4(p.batch, p.out_h, p.out_w, p.channels);
    y = (int8_t *)mla_write(c, out, 1);
    c->cost = mla_product(out, mla_product((uint64_t)p.taps_h, (uint64_t)p.taps_w) + 1u);
    if (mla_ready(c) != 0) {
        nncc_resize_s8(&p, x, index_h, weight_h, index_w, weight_w, y);
    }
}

void mla_do_reduce_sum(mla_command *c)
{
    nncc_reduce_s8_params p;
    const int8_t *x;
    int8_t *y;

    p.mult = 0; /* no other form of the mean */
    p.in_scale = mla_f64(c);
    p.out_scale = mla_f64(c);
    p.outer = mla_dim(c);
    p.axis = mla_dim(c);
    p.inner = mla_dim(c);
    p.divisor = mla_dim(c);
    p.in_zero = mla_byte(c);
    p.out_zero = mla_byte(c);
    p.rescale = mla_in(c, 0, 1);
    mla_clamp(c, &p.act_min, &p.act_max);
    mla_want(c, p.axis <= MLA_MAX_AREA);
    c->cost = mla_product3(p.outer, p.axis, p.inner);
    x = (const int8_t *)mla_read(c, 0, c->cost, 1);
    y = (int8_t *)mla_write(c, mla_product((uint64_t)p.outer, (uint64_t)p.inner), 1);
    if (mla_ready(c) != 0) {
        nncc_reduce_sum_s8(&p, x, y);
    }
}

static void mla_reduce(mla_command *c, mla_reduce_fn *kernel)
{
    nncc_axis_s8_params p;
    const int8_t *x;
    int8_t *y;

    p.outer = mla_dim(c);
    p.axis = mla_dim(c);
    p.inner = mla_dim(c);
    c->cost = mla_product3(p.outer, p.axis, p.inner);
    x = (const int8_t *)mla_read(c, 0, c->cost, 1);
    y = (int8_t *)mla_write(c, mla_product((uint64_t)p.outer, (uint64_t)p.inner), 1);
    if (mla_ready(c) != 0) {
        kernel(&p, x, y);
    }
}

void mla_do_reduce_max(mla_command *c)
{
    mla_reduce(c, nncc_reduce_max_s8);
}

void mla_do_reduce_min(mla_command *c)
{
    mla_reduce(c, nncc_reduce_min_s8);
}

static void mla_arg(mla_command *c, mla_arg_fn *kernel)
{
    nncc_arg_s8_params p;
    const int8_t *x;
    int64_t *y;

    p.outer = mla_dim(c);
    p.axis = mla_dim(c);
    p.inner = mla_dim(c);
    p.select_last = mla_in(c, 0, 1);
    c->cost = mla_product3(p.outer, p.axis, p.inner);
    x = (const int8_t *)mla_read(c, 0, c->cost, 1);
    y = (int64_t *)mla_write(c, mla_product((uint64_t)p.outer, (uint64_t)p.inner), 8);
    if (mla_ready(c) != 0) {
        kernel(&p, x, y);
    }
}

void mla_do_arg_max(mla_command *c)
{
    mla_arg(c, nncc_argmax_s8);
}

void mla_do_arg_min(mla_command *c)
{
    mla_arg(c, nncc_argmin_s8);
}
