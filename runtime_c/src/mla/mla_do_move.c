/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_do_move: data movement. */
#include "mla_command.h"
#include "nncc_move.h"

void mla_do_copy_nd(mla_command *c)
{
    nncc_copy_nd_params p;

    mla_params(c, "ekrrlll", &p);

    const mla_space s = mla_sizes(c, p.rank, p.dims);
    const void *x = mla_read_steps(c, 0, &s, p.x_stride, p.x_offset, (uint32_t)p.elem);
    void *y = mla_write_steps(c, &s, p.y_stride, p.y_offset, (uint32_t)p.elem);

    c->cost = s.count;
    if (mla_ready(c) != 0) {
        nncc_copy_nd(&p, x, y);
    }
}

void mla_do_copy_rows(mla_command *c)
{
    nncc_copy_rows_params p;

    mla_params(c, "ncbb", &p);
    mla_want(c, p.y_pitch >= p.block || p.rows == 1);

    const uint64_t between = (uint64_t)p.rows - 1u, block = (uint64_t)p.block;
    const void *x = mla_read(c, 0, mla_product(between, (uint64_t)p.x_pitch) + block, 1);
    void *y = mla_write(c, mla_product(between, (uint64_t)p.y_pitch) + block, 1);

    c->cost = mla_product((uint64_t)p.rows, block);
    if (mla_ready(c) != 0) {
        nncc_copy_rows(&p, x, y);
    }
}

void mla_do_fill(mla_command *c)
{
    nncc_fill_params p;

    mla_params(c, "ec", &p);

    const void *value = mla_read(c, 0, 1, (uint32_t)p.elem);
    void *y = mla_write(c, (uint64_t)p.count, (uint32_t)p.elem);

    c->cost = (uint64_t)p.count;
    if (mla_ready(c) != 0) {
        nncc_fill(&p, value, y);
    }
}

void mla_do_pad(mla_command *c)
{
    nncc_pad_params p;

    mla_params(c, "ekilll", &p);
    mla_bound(c, p.mode, NNCC_PAD_CONSTANT, NNCC_PAD_WRAP);
    for (int32_t d = 0; d < p.rank; d++) {
        mla_bound(c, p.before[d], -MLA_MAX_DIM, MLA_MAX_DIM);
    }
    mla_want(c, p.mode != NNCC_PAD_CONSTANT || mla_has(c, 1) != 0);

    const mla_space in = mla_sizes(c, p.rank, p.in_dims), out = mla_sizes(c, p.rank, p.out_dims);
    const void *x = mla_read(c, 0, in.count, (uint32_t)p.elem);
    const void *value = mla_read(c, 1, 1, (uint32_t)p.elem);
    void *y = mla_write(c, out.count, (uint32_t)p.elem);

    c->cost = out.count;
    if (mla_ready(c) != 0) {
        nncc_pad(&p, x, value, y);
    }
}

void mla_do_resize_nearest(mla_command *c)
{
    nncc_resize_nearest_params p;
    const int32_t low = mla_has(c, 3) != 0 ? -1 : 0;

    mla_params(c, "nnnnnn", &p);
    p.x_pitch = p.pixel;
    p.y_pitch = p.pixel;

    const void *x = mla_read(c, 0, mla_product4(p.batch, p.in_h, p.in_w, p.pixel), 1);
    const int32_t *index_h = mla_words(c, 1, (uint64_t)p.out_h, low, p.in_h - 1);
    const int32_t *index_w = mla_words(c, 2, (uint64_t)p.out_w, low, p.in_w - 1);
    const void *outside = mla_read(c, 3, (uint64_t)p.pixel, 1);

    c->cost = mla_product4(p.batch, p.out_h, p.out_w, p.pixel);
    void *y = mla_write(c, c->cost, 1);
    if (mla_ready(c) != 0) {
        nncc_resize_nearest(&p, x, index_h, index_w, outside, y);
    }
}

void mla_do_gather(mla_command *c)
{
    nncc_gather_params p;

    mla_params(c, "nncne", &p);
    if (p.index_bytes < 4) {
        mla_want(c, 0);
        return;
    }
    c->cost = mla_product3(p.outer, p.count, p.block);

    const void *x = mla_read(c, 0, mla_product3(p.outer, p.axis, p.block), 1);
    const void *indices = mla_read(c, 1, (uint64_t)p.count, (uint32_t)p.index_bytes);
    void *y = mla_write(c, c->cost, 1);

    if (mla_ready(c) != 0 && nncc_gather(&p, x, indices, y) != NNCC_OK) {
        c->status = MLA_ERR_RUN;
    }
}

void mla_do_where(mla_command *c)
{
    nncc_where_params p;

    mla_params(c, "ekllll", &p);

    const mla_space s = mla_sizes(c, p.rank, p.dims);
    const uint8_t *cond = (const uint8_t *)mla_read_steps(c, 0, &s, p.c_stride, 0, 1);
    const void *a = mla_read_steps(c, 1, &s, p.a_stride, 0, (uint32_t)p.elem);
    const void *b = mla_read_steps(c, 2, &s, p.b_stride, 0, (uint32_t)p.elem);
    void *y = mla_write(c, s.count, (uint32_t)p.elem);

    c->cost = s.count;
    if (mla_ready(c) != 0) {
        nncc_where(&p, cond, a, b, y);
    }
}
