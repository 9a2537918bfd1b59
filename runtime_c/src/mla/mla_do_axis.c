/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_do_axis: pools, reductions, normalisations, softmax and resampling. */
#include "mla_command.h"
#include "mla_kernels.h"
#include "nncc_s8.h"

typedef void mla_pool_fn(const nncc_pool2d_s8_params *p, const int8_t *x, int8_t *y);
typedef void mla_reduce_fn(const nncc_axis_s8_params *p, const int8_t *x, int8_t *y);
typedef void mla_arg_fn(const nncc_arg_s8_params *p, const int8_t *x, int64_t *y);

/* Bytes of the result of a pool and what it takes. */
static void mla_pooled(mla_command *c, uint64_t out, int32_t kernel_h, int32_t kernel_w)
{
    const uint64_t taps = mla_product((uint64_t)kernel_h, (uint64_t)kernel_w);

    c->cost = mla_product(out, taps + 1u);
    c->macs = mla_product(out, taps);
}

static void mla_pool(mla_command *c, mla_pool_fn *kernel)
{
    nncc_pool2d_s8_params p;

    mla_params(c, "dd_nnnnnnnnnnnnppppfzzfx", &p);
    p.mult = 0; /* no other form of the mean */
    MLA_WINDOW_OK(c, p);
    mla_want(c, mla_product((uint64_t)p.kernel_h, (uint64_t)p.kernel_w) <= MLA_MAX_AREA);

    const uint64_t out = mla_product4(p.batch, p.out_h, p.out_w, p.in_c);
    const int8_t *x = (const int8_t *)mla_read(c, 0, mla_product4(p.batch, p.in_h, p.in_w, p.in_c), 1);
    int8_t *y = (int8_t *)mla_write(c, out, 1);

    mla_pooled(c, out, p.kernel_h, p.kernel_w);
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

void mla_do_max_pool_bf16(mla_command *c)
{
    mla_pool2d_bf16_params p;

    mla_params(c, "ddnnnnnnnnnnnnpp", &p);
    MLA_WINDOW_OK(c, p);

    const uint64_t out = mla_product4(p.batch, p.out_h, p.out_w, p.in_c);
    const uint16_t *x = (const uint16_t *)mla_read(c, 0, mla_product4(p.batch, p.in_h, p.in_w, p.in_c), 2);
    uint16_t *y = (uint16_t *)mla_write(c, out, 2);

    mla_pooled(c, out, p.kernel_h, p.kernel_w);
    if (mla_ready(c) != 0) {
        mla_max_pool2d_bf16(&p, x, y);
    }
}

void mla_do_softmax(mla_command *c)
{
    nncc_softmax_s8_params p;

    mla_params(c, "nnnuhi", &p);
    mla_bound(c, p.diff_min, -((int32_t)1 << 30), 0);
    mla_want(c, p.axis <= 4095);

    const int64_t most = p.diff_min < -255 || p.diff_min > 0 ? 255 : -p.diff_min;
    const uint64_t n = mla_product3(p.outer, p.axis, p.inner);
    const int8_t *x = (const int8_t *)mla_read(c, 0, n, 1);
    int8_t *y = (int8_t *)mla_write(c, n, 1);

    mla_want(c, most << p.shift <= (int64_t)1 << 31);
    c->cost = mla_product(n, 3);
    if (mla_ready(c) != 0) {
        nncc_softmax_s8(&p, x, y);
    }
}

/* The constants of a normalisation in fixed point. */
static void mla_norm(mla_command *c, nncc_norm_s8_params *p)
{
    mla_params(c, "uhiii", p);
    mla_bound(c, p->up, -62, 62);
    mla_bound(c, p->root, -62, 124);
    mla_bound(c, p->shift, 1, 24);
}

void mla_do_layer_norm(mla_command *c)
{
    nncc_layer_norm_s8_params p;

    mla_norm(c, &p.norm);
    mla_params(c, "nafz", &p.rows);

    const uint64_t n = mla_product((uint64_t)p.rows, (uint64_t)p.len);
    const int8_t *x = (const int8_t *)mla_read(c, 0, n, 1);
    const int32_t *terms = (const int32_t *)mla_read(c, 1, mla_product(((uint64_t)p.len + 3u) / 4u, 6), 4);
    int8_t *y = (int8_t *)mla_write(c, n, 1);

    c->cost = mla_product(n, 2);
    if (mla_ready(c) != 0) {
        nncc_layer_norm_s8(&p, x, terms, y);
    }
}

void mla_do_group_norm(mla_command *c)
{
    nncc_group_norm_s8_params p;

    mla_norm(c, &p.norm);
    mla_params(c, "nnnn", &p.batch);
    mla_want(c, p.channels % p.groups == 0);
    mla_want(c, mla_product((uint64_t)p.spatial, (uint64_t)p.channels) / (uint64_t)p.groups <= MLA_MAX_AREA);

    const uint64_t n = mla_product3(p.batch, p.spatial, p.channels);
    const int8_t *x = (const int8_t *)mla_read(c, 0, n, 1);
    const int32_t *terms = (const int32_t *)mla_read(c, 1, mla_product((uint64_t)p.channels, 2), 4);
    int8_t *y = (int8_t *)mla_write(c, n, 1);

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
    const int32_t *index_h, *index_w;
    const int16_t *weight_h, *weight_w;

    mla_params(c, "ddnnnnnnnnrzzfz", &p);
    mla_want(c, p.den >= 1);

    const int8_t *x = (const int8_t *)mla_read(c, 0, mla_product4(p.batch, p.in_h, p.in_w, p.channels), 1);
    const int64_t sum_h = mla_samples(c, 1, p.out_h, p.taps_h, p.in_h, &index_h, &weight_h);
    const int64_t sum_w = mla_samples(c, 3, p.out_w, p.taps_w, p.in_w, &index_w, &weight_w);
    const uint64_t sum = mla_product(mla_product(255, (uint64_t)sum_h), (uint64_t)sum_w);
    const uint64_t out = mla_product4(p.batch, p.out_h, p.out_w, p.channels);
    int8_t *y = (int8_t *)mla_write(c, out, 1);

    mla_want(c, sum + (uint64_t)p.den / 2u < (uint64_t)1 << 31);
    c->cost = mla_product(out, mla_product((uint64_t)p.taps_h, (uint64_t)p.taps_w) + 1u);
    if (mla_ready(c) != 0) {
        nncc_resize_s8(&p, x, index_h, weight_h, index_w, weight_w, y);
    }
}

/* Input and result, elements of size bytes, of what takes one of each line of values. */
static const int8_t *mla_lines(mla_command *c, int32_t outer, int32_t axis, int32_t inner, uint32_t size, void **y)
{
    c->cost = mla_product3(outer, axis, inner);
    *y = mla_write(c, mla_product((uint64_t)outer, (uint64_t)inner), size);
    return (const int8_t *)mla_read(c, 0, c->cost, 1);
}

void mla_do_reduce_sum(mla_command *c)
{
    nncc_reduce_s8_params p;
    void *y;

    mla_params(c, "dd_nnnnzzfx", &p);
    p.mult = 0; /* no other form of the mean */
    p.up = 0;
    mla_want(c, p.axis <= MLA_MAX_AREA);

    const int8_t *x = mla_lines(c, p.outer, p.axis, p.inner, 1, &y);

    if (mla_ready(c) != 0) {
        nncc_reduce_sum_s8(&p, x, (int8_t *)y);
    }
}

static void mla_reduce(mla_command *c, mla_reduce_fn *kernel)
{
    nncc_axis_s8_params p;
    void *y;

    mla_params(c, "nnn", &p);

    const int8_t *x = mla_lines(c, p.outer, p.axis, p.inner, 1, &y);

    if (mla_ready(c) != 0) {
        kernel(&p, x, (int8_t *)y);
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
    void *y;

    mla_params(c, "nnnf", &p);

    const int8_t *x = mla_lines(c, p.outer, p.axis, p.inner, 8, &y);

    if (mla_ready(c) != 0) {
        kernel(&p, x, (int64_t *)y);
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
